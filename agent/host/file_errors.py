"""Exceptions for paths, files and commands, as one tree.

RundryError
├── PathRefused       the path is outside the workspace, or not allowed for the model
├── UnreadableFile    the path is not a plain, readable file of acceptable size
├── StaleFile         the file changed since it was read, and nothing was written
├── WriteFailed       the file could not be written; the old content is intact
├── CommandNotStarted a command did not start
└── SnapshotDamaged   a snapshot's content cannot be read
"""

from __future__ import annotations

from ..protocol import RundryError

GONE = "the workspace {root} was removed: restore it, or stop the run"
"""Why nothing can be read or written in a workspace that no longer exists."""


class PathRefused(RundryError):
    """The path is outside of the workspace, or tools may not access it."""


class UnreadableFile(RundryError):
    """The path is a folder, a device or a circular link, or it is too large or not permitted."""


class StaleFile(RundryError):
    """The file changed since it was read, so nothing was written."""


class WriteFailed(RundryError):
    """The file could not be written, and its old content is intact."""


class CommandNotStarted(RundryError):
    """A program or a folder is missing, or the command is too long."""


class SnapshotDamaged(RundryError):
    """An object of the snapshot store is missing, or its content does not match its id."""
