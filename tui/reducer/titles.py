"""What a tool call is called in one line."""

from __future__ import annotations

from typing import Any, cast

_VERBS = {
    "read_file": ("read", "path"),
    "list_files": ("list", "path"),
    "search": ("search", "pattern"),
    "edit_file": ("edit", "path"),
    "write_file": ("write", "path"),
    "run_command": ("run", "command"),
    "fetch_url": ("fetch", "url"),
    "ask_person": ("ask", "question"),
    "judge": ("judge", "verdict"),
    "wake_after": ("wake after", "seconds"),
}
_KINDS = {"edit_file": "edit", "write_file": "edit", "run_command": "command"}


def call_kind(tool: str) -> str:
    """The block's kind: `edit`, `command` or `tool`."""
    return _KINDS.get(tool, "tool")


def call_title(tool: str, arguments: Any) -> str:  # noqa: ANN401 - it is the model's JSON, whatever it holds
    """`read src/calc.py`; the tool's own name where the arguments say nothing."""
    verb, main = _VERBS.get(tool, (tool, ""))
    given = cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
    what = given.get(main)
    if tool == "list_files":
        what = " ".join(str(part) for part in (given.get("path") or ".", given.get("pattern")) if part)
    if what is None:
        return verb
    span = _span(given) if tool == "read_file" else ""
    return f"{verb} {what}{span}"


def change_title(verb: str, what: str, added: int, removed: int) -> str:
    """`edit src/calc.py  +3 −1`."""
    return f"{verb} {what}  +{added} −{removed}"


def proposal_title(tool: str, path: str | None, command: str | None, added: int, removed: int) -> str:
    """What waits at the gate, in one line."""
    verb = _VERBS.get(tool, (tool, ""))[0]
    if path is not None:
        return change_title(verb, path, added, removed)
    return f"{verb} {command}" if command is not None else verb


def _span(given: dict[str, Any]) -> str:
    start, end = given.get("start_line"), given.get("end_line")
    if start is None and end is None:
        return ""
    return f":{start or 1}-{end if end is not None else ''}"
