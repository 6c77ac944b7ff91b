"""Events about the effects of commands that ran in a layer (decision 0039)."""

from __future__ import annotations

from typing import Literal

from .base import EventBase


class EffectsAccepted(EventBase, frozen=True, kw_only=True):
    """Effects of a command were accepted. From here on they are applied, whatever is killed."""

    order: str
    """Name of the order in the layers' folder of the workspace."""
    rows: str
    """Blob of the rows that an undo takes back: each path with what it was and what it becomes."""
    command: str
    files: int
    """Number of files, those included that programs built."""
    shown: int = 0
    """Number of rows that have a `file_changed` event each; they come first."""
    git: str | None = None
    """Blob of what repositories gain. None means nothing."""
    also: list[str] = []
    """What else is applied, in words: it has no such events, and an undo takes it back, too."""
    built: list[str] = []
    """What programs built, in words: it is applied, and an undo leaves it."""
    pass_number: int = 0
    """Number of the pass whose changes these are. 0 means that they are those of a command."""
    in_place: bool = False
    """Whether it was written to the workspace itself, so that some of it may be somebody else's; nothing is applied."""
    outputs: list[str] = []
    """Folders and files with output that were written. No row names them."""


class EffectsApplied(EventBase, frozen=True, kw_only=True):
    """Accepted effects are in the workspace, except for those that conflict with it."""

    order: str
    conflicts: list[str] = []
    """One line for each path that somebody else changed meanwhile: it stays as they left it."""
    failed: list[int] = []
    """Numbers of the rows that conflict, from 0."""
    failed_git: list[int] = []
    """Numbers of the repositories that gained nothing, from 0."""
    lost: bool = False
    """The runner was killed before the effects were stored: nothing of them is in the workspace."""


class OutputsWritten(EventBase, frozen=True, kw_only=True):
    """A check of this run wrote output that no earlier event names. It is in the workspace from here on."""

    paths: list[str]
    """Folders and files."""


class UndoAccepted(EventBase, frozen=True, kw_only=True):
    """An undo of effects was accepted. From here on it is carried out, whatever is killed; `undone` follows."""

    order: str
    """Name of the order in the layers' folder of the workspace."""
    rows: str
    """Blob of the rows: each path with what it is and what it becomes."""
    changes: int
    """Number of changes that are undone."""
    shown: int = 0
    """Number of rows that get a `file_changed` event each; they come first."""
    git: str | None = None
    """Blob of what changes in repositories. None means nothing."""
    also: list[str] = []
    """What else the rows take back, in words."""
    kept: list[str] = []
    """What cannot be undone, and why: `path: why`, one line each."""
    unconfirmed: list[str] = []
    """The files of `kept` that a command changed in place: they are undone when a person names them."""
    step: int | None = None
    path: str | None = None
    by: str = "person"


class StageBegan(EventBase, frozen=True, kw_only=True):
    """From here on, what the run changes is staged, and not in the workspace, until somebody decides on it."""

    folder: str
    """Name of its folder among the layers of the workspace."""


class StageEnded(EventBase, frozen=True, kw_only=True):
    """Nothing is staged any more."""

    how: Literal["applied", "dropped", "lost"]
    """`lost`: the machine was restarted before all of it was on the disk, or somebody deleted it."""


LayersEvent = EffectsAccepted | EffectsApplied | OutputsWritten | UndoAccepted | StageBegan | StageEnded
"""The events of this module."""
