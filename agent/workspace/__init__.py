"""The machine around a run: paths, files, processes, snapshots, watching, the sandbox, the clock."""

from .clock import SystemClock
from .errors import PathRefused, StaleFile, UnreadableFile, WriteFailed
from .paths import Workspace
from .states import FileState, read_state
from .write import remove_file, write_file

__all__ = [
    "FileState",
    "PathRefused",
    "StaleFile",
    "SystemClock",
    "UnreadableFile",
    "Workspace",
    "WriteFailed",
    "read_state",
    "remove_file",
    "write_file",
]
