"""Default limits of runs, and parsing of limits that change during a run (docs/requirements.md 3.1)."""

from __future__ import annotations

from collections.abc import Collection

from ..protocol import LIMITS, Budget, LimitValue, LoopKind, UserError
from .option_table import BY_CONFIG_KEY, OPTIONS, TOP_LEVEL_KEYS, read_rate

FIELDS = {"steps": "steps", "tokens": "tokens", "usd": "usd", "time": "seconds", "deadline": "deadline"}
"""Option name to field name in the budget."""


def default_budget(loop: LoopKind) -> Budget:
    """Return the default budget for a loop kind."""
    return loop.traits.budget


def read_limit(name: str, value: LimitValue, tools: Collection[str]) -> LimitValue:
    """Parse a limit that is not part of the budget, as a person wrote it or a view sent it. Raises UserError.

    `tools`: names of the tools, each of which can have a quota.
    """
    if name in tools:
        return None if value in (None, "none") else read_rate(name, str(value))
    if name not in LIMITS:
        raise UserError(f"unknown limit {name!r}: {did_you_mean(name, [*FIELDS, *LIMITS, *tools])}")
    read = OPTIONS[name].read("none" if value is None else value, 0.0)
    assert read is None or isinstance(read, (int, float))  # all of these are numbers
    return read


def did_you_mean(name: str, known: Collection[str]) -> str:
    """Return `did you mean X?`, or a list of the known names if none is similar."""
    from difflib import get_close_matches  # only needed for errors

    found = get_close_matches(name, known, n=1)
    return f"did you mean {found[0]}?" if found else f"use one of {', '.join(known)}"


def option_suggestion(place: str) -> str:
    """Return `: did you mean X?` for a key of a config file that is not an option."""
    from difflib import get_close_matches  # only needed for errors

    last = place.rpartition(".")[2]
    if last in OPTIONS:
        return f": did you mean {OPTIONS[last].config_key}?"
    near = get_close_matches(place, [*BY_CONFIG_KEY, *TOP_LEVEL_KEYS], 1) or [
        OPTIONS[name].config_key for name in get_close_matches(last, OPTIONS, 1)
    ]
    return f": did you mean {near[0]}?" if near else ": `rundry doctor` lists them all"
