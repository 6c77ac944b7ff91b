"""The tool calls of a run, each with what came of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, cast

from ..protocol import ToolFinished

_KEPT = 400
"""Characters of a result that are kept beside the journal."""
_WHOLE = 200
"""The newest calls of a search, which may make tens of thousands."""


@dataclass(frozen=True, slots=True)
class Action:
    """A tool call with what came of it."""

    call_id: str
    tool: str
    arguments: Any
    step: int | None
    ok: bool | None = None
    result: str = ""
    summary: str | None = None
    ended: int = 0
    """Where its result stands in the journal."""
    edited: bool = False
    """A file changed while it ran."""
    disturbed: bool = False
    """A guarded file was written while it ran."""


def close_action(actions: list[Action], finished: ToolFinished, seq: int = 0, *, edited: bool = False) -> Action | None:
    """Puts the result beside its call; the call with it, or None where there was no such call."""
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
    """To be called after each call: of one that is not among the newest only what is counted stays."""
    place = len(actions) - _WHOLE - 1
    if place >= 0:
        actions[place] = replace(actions[place], arguments=None, result="")


def arguments_of(action: Action) -> dict[str, Any]:
    """The parsed arguments, or nothing where the model wrote no object."""
    return cast("dict[str, Any]", action.arguments) if isinstance(action.arguments, dict) else {}


def answer_of(finish: Action | None, last: str | None) -> str | None:
    """The answer that an outcome reports: the accepted finish's, else the newest text."""
    given = arguments_of(finish).get("answer") if finish is not None else None
    return str(given) if given else last


def paths_read(actions: Iterable[Action]) -> set[str]:
    """What the calls that went well named as their path."""
    return {str(arguments_of(action)["path"]) for action in actions if action.ok and "path" in arguments_of(action)}
