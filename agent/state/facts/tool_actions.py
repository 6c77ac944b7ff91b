"""The tool calls of a run with their results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from ...protocol import ToolFinished

_KEPT = 400
"""Number of characters of a result that are kept in memory; the journal has all of it."""
_WHOLE = 200
"""Number of newest calls that are kept complete; a search may make tens of thousands."""


@dataclass(frozen=True, slots=True)
class Action:
    """A tool call with its result."""

    call_id: str
    tool: str
    arguments: Any
    step: int | None
    ok: bool | None = None
    result: str = ""
    summary: str | None = None
    ended: int = 0
    """Position of its result in the journal."""
    edited: bool = False
    """A file changed while the tool ran."""
    disturbed: bool = False
    """Something that it changed was not applied."""


def close_action(actions: list[Action], finished: ToolFinished, seq: int = 0, *, edited: bool = False) -> Action | None:
    """Add the result to its call and return the updated call, or None if there is no such call."""
    for i in range(len(actions) - 1, -1, -1):
        if actions[i].call_id == finished.call_id:
            done = actions[i] = replace(
                actions[i],
                ok=finished.ok,
                result=finished.result[:_KEPT],
                summary=finished.summary,
                ended=seq,
                edited=edited,
                disturbed=bool(finished.disturbed),
            )
            return done
    return None


def forget_older(actions: list[Action]) -> None:
    """Shorten the call that is no longer among the newest. Call this after each new call."""
    place = len(actions) - _WHOLE - 1
    if place >= 0:
        actions[place] = replace(actions[place], arguments=None, result="")


def arguments_of(action: Action) -> dict[str, Any]:
    """Return the parsed arguments, or an empty dict if the model did not write an object."""
    return cast("dict[str, Any]", action.arguments) if isinstance(action.arguments, dict) else {}


def answer_of(finish: Action | None, last: str | None) -> str | None:
    """Return the answer for the outcome: that of the accepted `finish`, otherwise the newest text."""
    given = arguments_of(finish).get("answer") if finish is not None else None
    return str(given) if given else last


def paths_read(actions: Iterable[Action]) -> set[str]:
    """Return the `path` arguments of all successful calls."""
    return {str(arguments_of(action)["path"]) for action in actions if action.ok and "path" in arguments_of(action)}
