"""The parts of the screen in words, and which of them share their keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .action import Place

PLACES: Mapping[Place, str] = {
    "main": "everywhere",
    "message": "in the message box",
    "suggestions": "in suggestions",
    "line": "in a line to type",
    "gate": "at the gate",
    "board": "on the board",
    "rows": "on the board",
    "transcript": "in the transcript",
    "scroll": "while reading",
    "end": "at the end of a run",
    "list": "in a list",
    "dialog": "in a dialog",
    "sessions": "in the sessions",
    "rewind": "in rewind",
    "changes": "in changed files",
    "commit": "before a commit",
    "leave": "before leaving",
    "handoff": "in a hand-off",
    "replay": "in a replay",
}
"""Where a key counts, in the order of the help."""

TITLES: Mapping[Place, str] = {
    "main": "Anywhere",
    "message": "In the message box",
    "suggestions": "In the suggestions above the message box",
    "line": "In a line for a reason",
    "gate": "At the gate",
    "board": "On the board of a search",
    "rows": "Through the board",
    "transcript": "In the transcript",
    "scroll": "In the transcript, a proposal, a diff, this help",
    "end": "When a run has ended",
    "list": "In a list of models, sessions, rules, files",
    "dialog": "In a dialog",
    "sessions": "In the list of sessions",
    "rewind": "In the list to rewind",
    "changes": "In the changed files",
    "commit": "Before a commit",
    "leave": "Before leaving, the run or a stage",
    "handoff": "On the page of a hand-off",
    "replay": "In a replay",
}
"""Headings of the help and of the reference."""

_ABOVE_MAIN: frozenset[Place] = frozenset(
    {"list", "dialog", "sessions", "rewind", "changes", "commit", "leave", "handoff", "replay"}
)
"""Screens above the main screen: its keys do not count there."""
_PAIRS: tuple[tuple[Place, Place], ...] = (
    ("board", "rows"),
    ("gate", "scroll"),
    ("transcript", "scroll"),
    ("list", "dialog"),
    ("list", "sessions"),
    ("list", "rewind"),
    ("list", "changes"),
    ("dialog", "sessions"),
    ("dialog", "rewind"),
    ("dialog", "changes"),
    ("dialog", "commit"),
    ("dialog", "leave"),
    ("dialog", "handoff"),
    ("dialog", "scroll"),
    ("changes", "scroll"),
    ("handoff", "scroll"),
)
_MEET = frozenset((*_PAIRS, *((other, one) for one, other in _PAIRS)))


def meet(one: Place, other: Place) -> bool:
    """Return whether the keys of both count at the same time."""
    if "main" in (one, other):
        return not _ABOVE_MAIN & {one, other}
    return one == other or (one, other) in _MEET
