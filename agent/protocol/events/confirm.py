"""Events about the confirmation of a result in a clean checkout, during the run or later with `rundry verify`."""

from __future__ import annotations

import msgspec

from ..evidence import Confirmed
from .base import EventBase


class DependencyFolder(msgspec.Struct, frozen=True, kw_only=True):
    """A folder that a package manager filled, as it was at the start of the run."""

    path: str
    """Relative to the workspace."""
    files: int = 0
    bytes: int = 0
    manifest: str | None = None
    """Blob that lists its content. None means the folder could not be read completely."""
    why_not: str = ""


class DependenciesFound(EventBase, frozen=True, kw_only=True):
    """The program reads these folders, in parallel with the baseline check and the first call. Tools wait for it."""

    paths: list[str]


class DependenciesRecorded(EventBase, frozen=True, kw_only=True):
    """The digests of the dependency folders, recorded before the run's first tool call."""

    folders: list[DependencyFolder]
    seconds: float = 0.0


class ConfirmationStarted(EventBase, frozen=True, kw_only=True):
    """The checks start in a clean checkout."""

    command: str


class ConfirmationFinished(EventBase, frozen=True, kw_only=True):
    """The predicates held, and these commands were run in a clean checkout of the result."""

    command: str
    """The command; several commands are joined by `&&`."""
    result: Confirmed
    detail: str = ""
    """Why the confirmation failed or could not be set up."""
    output: str = ""
    """Output of the failed command: beginning and end, limited in length."""
    left_out: list[str] = []
    """Some of the ignored files and folders of the workspace that are missing from the checkout."""
    world: str | None = None
    """The snapshot of the result."""
    mark: str = ""
    """Hash of the checkout's inputs: the same inputs are not run a second time."""
    seconds: float = 0.0
    repeated: bool = False
    """Nothing was run, because the checkout would be the same as the one that failed before."""


class RunVerified(EventBase, frozen=True, kw_only=True):
    """`rundry verify` ran commands in a clean checkout of the result after the run had ended."""

    command: str
    result: Confirmed
    detail: str = ""
    output: str = ""
    world: str | None = None
    seconds: float = 0.0


ConfirmEvent = DependenciesFound | DependenciesRecorded | ConfirmationStarted | ConfirmationFinished | RunVerified
"""The events of this module."""
