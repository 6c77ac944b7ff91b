"""Page of config values: config.md, from the table of options."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Mapping
from math import inf
from typing import Any

from rundry.agent.protocol import LoopKind
from rundry.agent.settings.default_limits import FIELDS, default_budget
from rundry.agent.settings.option_table import BY_CONFIG_KEY, OPTIONS, TOP_LEVEL_KEYS, Option
from rundry.tui.cli.option_meanings import option_meanings
from rundry.tui.cli.root import cli

from .markdown import code, page, table
from .words import WORDS, head

MEANINGS = option_meanings(cli)


def pages() -> dict[str, str]:
    groups: dict[str, list[tuple[str, ...]]] = {}
    for place, name in BY_CONFIG_KEY.items():
        group, _, _ = place.rpartition(".")
        groups.setdefault(group, []).append(_row(place, name))
    lines = head("config", joined=", ".join(map(code, WORDS["joined"])), short=", ".join(map(code, TOP_LEVEL_KEYS)))
    for group in sorted(groups):
        lines += [f"## [{group}]" if group else "## Top level", ""]
        lines += table(("key", "meaning", "type", "default", "option", "variable", "own config only"), groups[group])
    return {"config.md": page(lines)}


def _row(place: str, name: str) -> tuple[str, ...]:
    option = OPTIONS[name]
    return (
        code(place.rpartition(".")[2]),
        MEANINGS[name],
        type_of(option.read),
        _default(name, option),
        code(f"--{name.replace('_', '-')}") if option.flag else "",
        code(f"RUNDRY_{name.upper()}") if option.from_env else "",
        "yes" if option.user_only else "",
    )


def type_of(read: Any) -> str:
    """Describe what a reader accepts, from its parameters. Raises LookupError for an unknown reader."""
    name = read.__qualname__.partition(".")[0]
    given = inspect.getclosurevars(read).nonlocals if "<locals>" in read.__qualname__ else {}
    match name:
        case "_amount":
            return _amount(given)
        case "_choice":
            return " or ".join(map(code, given["words"]))
        case "_many":
            return f"list of: {type_of(given['read'])}"
        case _ if name in WORDS["types"]:
            return WORDS["types"][name]
        case _:
            raise LookupError(f"no words for the reader {name}: add it to [types] in tests/reference/words.toml")


def _amount(given: Mapping[str, Any]) -> str:
    text = "whole number" if given["whole"] else WORDS["types"][given["parse"].__name__]
    least, limit = given["least"], given["limit"]
    bounds = f", {least:,g} to {limit:,g}" if limit < inf else f", at least {least:,g}" if least else ""
    return text + bounds + ("" if given["needed"] else ", or `none`")


def _default(name: str, option: Option) -> str:
    if name in FIELDS:
        values = [getattr(default_budget(loop), FIELDS[name]) for loop in (LoopKind.GOAL, LoopKind.INTERVAL)]
        return "" if values[0] is None else f"{_shown(values[0])}; other loops {_shown(values[1])}"
    return WORDS["defaults"].get(name) or _shown(option.default)


def _shown(value: object) -> str:
    if value is None or value == [] or value == {}:
        return ""
    if isinstance(value, bool):
        return code(str(value).lower())
    if isinstance(value, enum.Enum):
        return code(str(value.value))
    if isinstance(value, list):
        return ", ".join(code(str(each)) for each in value)
    return code(f"{value:g}" if isinstance(value, float) else str(value))
