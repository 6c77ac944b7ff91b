"""The machine around a run: paths, files, processes, snapshots, watching, the sandbox, the clock."""

from .clock import SystemClock
from .environment import command_env
from .errors import CommandNotStarted, PathRefused, SnapshotDamaged, StaleFile, UnreadableFile, WriteFailed
from .ignore import Ignore
from .paths import Workspace
from .processes import Finished, Running, run_process, shell, start_process
from .sandbox import Sandbox
from .snapshots import Change, Snapshots
from .states import FileState, read_state
from .watch import watch
from .write import remove_file, write_file

__all__ = [
    "Change",
    "CommandNotStarted",
    "FileState",
    "Finished",
    "Ignore",
    "PathRefused",
    "Running",
    "Sandbox",
    "SnapshotDamaged",
    "Snapshots",
    "StaleFile",
    "SystemClock",
    "UnreadableFile",
    "Workspace",
    "WriteFailed",
    "command_env",
    "read_state",
    "remove_file",
    "run_process",
    "shell",
    "start_process",
    "watch",
    "write_file",
]
