"""Write the value of a setting as it would be written on the command line. Does not import textual."""

from __future__ import annotations

from typing import cast

from rundry.agent import Hook, McpServer, Rule, Setting, clock, rule_text

from ..text.show_text import one_line

_SPANS = frozenset({"time", "check_timeout", "command_timeout", "park", "cache_ttl", "every"})
"""Settings that are a span of time."""


def shown_value(name: str, value: object) -> str:
    """Return the value of the setting with this name; `-` if it is not set."""
    if value is None or value in ([], {}):
        return "-"
    if name in _SPANS and isinstance(value, float):
        return clock(value)
    if name == "hooks":
        return one_line("; ".join(f"{hook.on}: {hook.command}" for hook in cast("list[Hook]", value)))
    if name == "rules":
        return one_line("; ".join(map(rule_text, cast("list[Rule]", value))))
    if name == "mcp":
        return one_line(", ".join(server.name for server in cast("list[McpServer]", value)))
    if isinstance(value, list):
        return one_line(", ".join(map(str, cast("list[object]", value))))
    return one_line(str(value))


def shown_setting(name: str, setting: Setting) -> str:
    """Return the value of a setting; a default that depends on the run is explained in words."""
    if name == "gate" and setting.source == "default":
        return "effects, else ask"
    return shown_value(name, setting.value)
