"""What can go wrong with paths, files and commands, as one tree.

RundryError
├── PathRefused       the path is outside of the workspace, or is not for the model
├── UnreadableFile    there is no plain, readable file of a sane size behind the path
├── StaleFile         the file is no longer what was looked at: look again, nothing was written
├── WriteFailed       the file could not be written; the old content is intact
├── CommandNotStarted no process came of a command
└── SnapshotDamaged   what a snapshot kept cannot be read
"""

from __future__ import annotations

from ..protocol import RundryError


class PathRefused(RundryError):
    """The path leaves the workspace, or names something that no tool may touch."""


class UnreadableFile(RundryError):
    """A folder, a device, a circle of links, something too large or not permitted; the text says which."""


class StaleFile(RundryError):
    """The file changed since it was read. Nothing was written."""


class WriteFailed(RundryError):
    """The file could not be written. What was there is still there."""


class CommandNotStarted(RundryError):
    """A program or a folder is missing, or the command is too long; the text says which."""


class SnapshotDamaged(RundryError):
    """An object of the private store is missing or wrong."""
