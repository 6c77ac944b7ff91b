"""The machine around a run: paths, files, processes, snapshots, watching, the sandbox, the clock."""

from .clock import SystemClock
from .content import form_of
from .environment import command_env
from .errors import PathRefused, SnapshotDamaged, StaleFile, UnreadableFile, WriteFailed
from .ignore import Ignore
from .paths import Workspace
from .processes import Finished, run_process, shell
from .sandbox import Sandbox
from .snapshots import Change, Snapshots
from .states import FileState, read_state
from .watch import watch
from .write import remove_file, write_file

__all__ = [
    "Change",
    "FileState",
    "Finished",
    "Ignore",
    "PathRefused",
    "Sandbox",
    "SnapshotDamaged",
    "Snapshots",
    "StaleFile",
    "SystemClock",
    "UnreadableFile",
    "Workspace",
    "WriteFailed",
    "command_env",
    "form_of",
    "read_state",
    "remove_file",
    "run_process",
    "shell",
    "watch",
    "write_file",
]
