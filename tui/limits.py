"""A limit as a person writes it: for `/limit` and for `rundry ctl RUN limit` alike. No textual in here."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from rundry.agent import UserError, parse_deadline, parse_duration, parse_money, parse_number

_PARSERS: Mapping[str, Callable[[str], float | None]] = {
    "steps": parse_number,
    "tokens": parse_number,
    "usd": parse_money,
    "time": parse_duration,
    "seconds": parse_duration,
    "deadline": lambda text: parse_deadline(text, time.time()),
}


def parse_limit(name: str, value: str) -> tuple[str, float | None]:
    """The limit's name in a budget, and its value; None takes it away. Raises UserError."""
    if name not in _PARSERS:
        raise UserError(f"limit {name!r}: there are steps, tokens, usd, time and deadline")
    try:
        return "seconds" if name == "time" else name, _PARSERS[name](value.strip())
    except UserError as error:
        raise UserError(f"limit {name}: {error}") from None
