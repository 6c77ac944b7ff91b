"""Parse the rows of `[[hooks]]` in a config file."""

from __future__ import annotations

from typing import cast

from ..protocol import HOOK_POINTS, Hook, HookPoint, UserError
from ..protocol.tools.mcp import server_of
from ..protocol.tools.traits import TOOL_TRAITS
from .option_values import check_amount, parse_duration
from .value_schema import COMMAND, DURATION, LINE, listed, table, takes

MOST_HOOKS = 50
_LONGEST_COMMAND = 10_000
_MOST_SECONDS = 600.0
_DEFAULT_SECONDS = 10.0
_FIX = 'write on = "before-tool", command = "...", and if needed match = {tool = ["run_command"]}, timeout = 10'


_SECONDS = {"anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": _MOST_SECONDS}, DURATION]}
_HOOK = table(
    {
        "on": {"enum": list(HOOK_POINTS), "description": "The event."},
        "command": {**COMMAND, "maxLength": _LONGEST_COMMAND, "description": "The command line."},
        "match": {
            **table({"tool": listed(LINE), "path": listed(LINE)}),
            "description": "Only for these tools and paths, with `before-tool` and `after-edit`.",
        },
        "timeout": {**_SECONDS, "description": "Seconds, or a duration such as `30s`. Default: 10."},
    },
    "on",
    "command",
)


@takes({"anyOf": [_HOOK, {"type": "array", "items": _HOOK, "maxItems": MOST_HOOKS}]})
def read_hooks(value: object, now: float) -> list[Hook]:
    """Parse the hooks, in order. Raises UserError."""
    del now
    rows = cast("list[object]", value) if isinstance(value, list) else [value]
    if len(rows) > MOST_HOOKS:
        raise UserError(f"{len(rows)} hooks are too many: at most {MOST_HOOKS} are allowed")
    return [_hook(row) for row in rows]


def _hook(row: object) -> Hook:
    if not isinstance(row, dict):
        raise UserError(f"{row!r} is not a hook: {_FIX}")
    fields = cast("dict[str, object]", row)
    wrong = [name for name in fields if name not in ("on", "match", "command", "timeout")]
    if wrong:
        raise UserError(f"a hook has no field {wrong[0]!r}: {_FIX}")
    on: HookPoint | None = next((point for point in HOOK_POINTS if point == fields.get("on")), None)
    if on is None:
        raise UserError(f"on = {fields.get('on')!r} is not an event: use {', '.join(HOOK_POINTS)}")
    command = fields.get("command")
    if not isinstance(command, str) or not command.strip() or "\0" in command or len(command) > _LONGEST_COMMAND:
        raise UserError(f"a hook needs a command in one text: {_FIX}")
    match = fields.get("match", {})
    if not isinstance(match, dict):
        raise UserError('match is not a table: write match = {tool = ["run_command"], path = "**/*.py"}')
    tools, paths = _match(cast("dict[str, object]", match), on)
    return Hook(on=on, command=command, tool=tools, path=paths, timeout=_seconds(fields.get("timeout")))


def _match(match: dict[str, object], on: HookPoint) -> tuple[list[str], list[str]]:
    wrong = [name for name in match if name not in ("tool", "path")]
    if wrong:
        raise UserError(f"match cannot have {wrong[0]!r}: use tool and path")
    if match and on not in ("before-tool", "after-edit"):
        raise UserError(f'match has no meaning with on = "{on}": remove it')
    tools = _texts("tool", match.get("tool", []))
    unknown = [tool for tool in tools if tool not in TOOL_TRAITS and server_of(tool) is None]
    if unknown:
        raise UserError(f"{unknown[0]!r} is not a tool: use {', '.join(sorted(TOOL_TRAITS))}")
    return tools, _texts("path", match.get("path", []))


def _texts(name: str, value: object) -> list[str]:
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    if not all(isinstance(one, str) and one.strip() and one.isprintable() for one in values):
        raise UserError(f"match.{name} = {value!r} is not a text or a list of texts")
    return [str(one) for one in values]


def _seconds(value: object) -> float:
    if value is None:
        return _DEFAULT_SECONDS
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UserError(f"timeout = {value!r} is not a duration: write 10, 30s or 2m")
    seconds = parse_duration(value) if isinstance(value, str) else check_amount(value)
    if seconds is None or not 0 < seconds <= _MOST_SECONDS:
        raise UserError(f"timeout = {value!r} is out of range: write a time from 1 to {_MOST_SECONDS:g} seconds")
    return seconds
