"""A result is confirmed in a clean checkout: during the run, or later by `rundry verify`."""

from __future__ import annotations

import msgspec

from ..evidence import Confirmed
from .base import EventBase


class DependencyFolder(msgspec.Struct, frozen=True, kw_only=True):
    """A folder that a package manager filled, as it stood at the start of the run."""

    path: str
    """Relative to the workspace."""
    files: int = 0
    bytes: int = 0
    manifest: str | None = None
    """Blob of what it holds; None: it could not be read whole."""
    why_not: str = ""


class DependenciesFound(EventBase, frozen=True, kw_only=True):
    """These folders are read now, beside the baseline check and the first call; the first tool waits for it."""

    paths: list[str]


class DependenciesRecorded(EventBase, frozen=True, kw_only=True):
    """The digests of the dependency folders, before any tool of the run was performed."""

    folders: list[DependencyFolder]
    seconds: float = 0.0


class ConfirmationStarted(EventBase, frozen=True, kw_only=True):
    command: str


class ConfirmationFinished(EventBase, frozen=True, kw_only=True):
    """The predicates hold, and these commands ran in a clean checkout of the result."""

    command: str
    """Several are joined by `&&`."""
    result: Confirmed
    detail: str = ""
    """Why it failed or could not be set up."""
    output: str = ""
    """Of the command that failed: head and tail, bounded."""
    left_out: list[str] = []
    """Ignored files and folders of the workspace that the checkout does not have; some of them."""
    world: str | None = None
    """The snapshot of the result."""
    mark: str = ""
    """Hash of what the checkout was made of: nothing is run twice on the same."""
    seconds: float = 0.0
    repeated: bool = False
    """Nothing was run: the checkout would be the one that failed before."""


class RunVerified(EventBase, frozen=True, kw_only=True):
    """`rundry verify` ran commands in a clean checkout of the result, after the run had ended."""

    command: str
    result: Confirmed
    detail: str = ""
    output: str = ""
    world: str | None = None
    seconds: float = 0.0
