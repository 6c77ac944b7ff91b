"""One-line titles of tool calls, stalls, commands and tries."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, assert_never, cast

from ....protocol.events.tries import candidate_of
from ....protocol.events.worktrees import tree_and_key
from ....protocol.text.counts import duration
from ....protocol.tools.traits import TOOL_TRAITS, ToolTraits

if TYPE_CHECKING:
    from ....protocol import AwaitBegan, AwaitKind, StallDetected
    from ...common.await_facts import Await
    from ..block import BlockKind

_LONG_WAIT = 3_600.0
"""Seconds of a wait from which its end is shown without seconds."""
_STALLS = {
    "repeat": "did the same again, with the same result",
    "error": "failed the same way again",
    "same-error": "got the same error from different attempts",
    "refused": "requested again what was refused",
    "cycle": "repeated the same cycle of calls",
    "oscillation": "went back and forth",
    "monologue": "repeated the same plan",
    "chant": "repeated the same words",
    "empty": "gave an empty answer again",
    "stagnation": "found nothing new for many steps",
    "poll": "repeated the same query without a new result",
    "tool-errors": "most tool calls failed",
}
"""Texts for the kinds of stalls that detectors (`agent.budget.stall`) report."""
_NAMES = {"monologue": "same plan", "chant": "same words"}
"""Names for people, where the kind on the wire is not a plain word."""
_RESPONSES = {
    "hint": "sent a hint",
    "handoff": "handed to a person",
    "stop": "stopped",
    "escalate": "asked a stronger model",
    "restart": "starts over",
}

_COMMANDS = {
    "say": "your message",
    "steer": "your message",
    "answer": "your answer",
    "decide": "your decision",
    "edit_queued": "your change to the message",
    "unqueue": "removing the message",
    "set_limit": "/limit",
    "switch_model": "/model",
    "set_gate_mode": "/gate",
    "unpause": "resuming",
    "step_once": "/step",
    "park": "the stage",
    "shell": "!",
    "take_wheel": "/control",
    "give_wheel": "/control",
    "act": "what you did",
    "stop_command": "/stop",
    "judge": "your verdict",
    "merge": "the merge",
    "add_item": "/item",
    "add_lens": "/lens",
    "skip_item": "skipping the item",
}
"""Texts for a person's commands; all other commands are slash commands of the same name."""


def call_kind(tool: str) -> BlockKind:
    """Return the kind of block: `edit`, `command` or `tool`."""
    match TOOL_TRAITS.get(tool):
        case ToolTraits(effect="change"):
            return "edit"
        case ToolTraits(effect="command"):
            return "command"
        case _:
            return "tool"


def call_title(tool: str, arguments: Any) -> str:  # noqa: ANN401 - it is the model's JSON, whatever it holds
    """Return a title such as `read src/calc.py`, or the tool's name if the arguments do not help."""
    traits = TOOL_TRAITS.get(tool)
    verb = _verb(tool)
    given = cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
    what = given.get(traits.subject) if traits is not None else None
    if tool == "list_files":
        what = " ".join(str(part) for part in (given.get("path") or ".", given.get("pattern")) if part)
    if tool == "wait_for":
        what = _awaited(given)
    if what is None:
        return verb
    span = _span(given) if tool == "read_file" else ""
    return f"{verb} {what}{span}"


def await_words(what: AwaitKind, name: str, text: str = "") -> str:
    """Describe what is awaited: `the end of build`, `“listening” of web`, `port 8000`, `60 s`."""
    match what:
        case "job":
            return f"“{text}” of {name}" if text else f"the end of {name}"
        case "port":
            return f"port {name}"
        case "person":
            return f"you: {name}"
        case "file" | "time":
            return name
        case _:
            assert_never(what)


def waiting_line(wait: Await) -> str:
    """Return a wait as a line: `waiting for the end of build, until 14:32:10`."""
    began = wait.began
    words = f"waiting for {await_words(began.what, began.name, began.text)}"
    return ", ".join([words, *until_words(began, wait.since)])


def _awaited(given: dict[str, Any]) -> str | None:
    """Describe what a call of `wait_for` awaits, or None if its arguments do not say."""
    if isinstance(seconds := given.get("seconds"), int | float):
        return await_words("time", duration(seconds))
    for what in ("job", "file", "port", "person"):
        if what in given:
            return await_words(what, str(given[what]), str(given.get("text") or ""))
    return None


def until_words(event: AwaitBegan, since: float) -> list[str]:
    """Return until when a wait lasts at most, as a list that is empty if it has no limit. `since`: Unix time."""
    if event.until is None:
        return []
    seconds = "%H:%M" if event.until - since >= _LONG_WAIT else "%H:%M:%S"
    return [f"until {time.strftime(seconds, time.localtime(event.until))}"]


def change_title(verb: str, what: str, added: int, removed: int) -> str:
    """Return the title of a change: `edit src/calc.py  +3 −1`."""
    return f"{verb} {what}  +{added} −{removed}"


def proposal_title(tool: str, path: str | None, command: str | None, added: int, removed: int) -> str:
    """Return a one-line title of a proposal at the gate."""
    verb = _verb(tool)
    if path is not None:
        return change_title(verb, path, added, removed)
    return f"{verb} {command}" if command is not None else verb


def _verb(tool: str) -> str:
    traits = TOOL_TRAITS.get(tool)
    return traits.verb if traits is not None and traits.verb else tool


def _span(given: dict[str, Any]) -> str:
    start, end = given.get("start_line"), given.get("end_line")
    if start is None and end is None:
        return ""
    return f":{start or 1}-{end if end is not None else ''}"


def stall_words(stall: StallDetected) -> tuple[str, str, str]:
    """Describe a stall: its kind, what is repeated, and the response."""
    return (
        stall_kind_words(stall.kind),
        stall.signature,
        _RESPONSES[stall.response],
    )


def stall_kind_words(kind: str) -> str:
    """Describe a kind of stall, or its name for people; a text that is neither is returned unchanged."""
    known = next((each for each, name in _NAMES.items() if name == kind), kind)
    return _STALLS.get(known, kind)


def stall_name(kind: str) -> str:
    """Return the short name of a kind of stall, as in the detail of an outcome: `same plan`, `repeat`."""
    return _NAMES.get(kind, kind)


def command_name(command: str) -> str:
    """Return the name of a command as the user knows it: `/model` for `switch_model`."""
    return _COMMANDS.get(command, f"/{command}")


def try_label(work: str | None) -> str:
    """Return a label such as `try 2` or `worktree 2` if the event or entry belongs to one; otherwise nothing."""
    if (found := tree_and_key(work)) is not None:
        return f"worktree {found[0]}"
    candidate = candidate_of(work)
    return "" if candidate is None else f"try {candidate}"
