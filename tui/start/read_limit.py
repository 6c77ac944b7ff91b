"""Read a limit that a user wrote, for `/limit` and for `rundry ctl RUN limit`. Does not import textual."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from rundry.agent import LimitValue, UserError, parse_deadline, parse_duration, parse_money, parse_number

_PARSERS: Mapping[str, Callable[[str], float | None]] = {
    "steps": parse_number,
    "tokens": parse_number,
    "usd": parse_money,
    "time": parse_duration,
    "seconds": parse_duration,
    "deadline": lambda text: parse_deadline(text, time.time()),
}


def parse_limit(name: str, value: str) -> tuple[str, LimitValue]:
    """Return the limit's name in a run, and its value, which is None to remove the limit. Raises UserError."""
    parse = _PARSERS.get(name)
    try:
        if parse is not None:
            return "seconds" if name == "time" else name, parse(value.strip())
        from rundry.agent import TOOL_TRAITS, read_limit  # 40 ms that a screen need not spend at its start

        name = name.replace("-", "_")
        return name, read_limit(name, value.strip(), TOOL_TRAITS)
    except UserError as error:
        raise UserError(f"limit {name}: {error}") from None
