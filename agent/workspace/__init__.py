"""The machine around a run: paths, files, processes, snapshots, watching, the sandbox, the clock."""

from .bubblewrap import Stage
from .clock import SystemClock
from .confined import OWN_GIT, Unseen, command_env, denied_paths, expanded, left_out, path_globs
from .content import form_of
from .errors import PathRefused, SnapshotDamaged, StaleFile, UnreadableFile, WriteFailed
from .family import Family
from .file_glob import FileGlob
from .ignore import Ignore
from .leftovers import Leftovers
from .objects import blob_id
from .output import HeadTail
from .paths import Workspace
from .processes import Finished, run_process, shell
from .refused import Need
from .restore import Restorer, Was, alike
from .sandbox import Sandbox
from .snapshots import Change, Snapshots
from .states import FileState, editable, read_state, stored_state
from .watch import watch, watch_files
from .write import remove_file, write_file

__all__ = [
    "OWN_GIT",
    "Change",
    "Family",
    "FileGlob",
    "FileState",
    "Finished",
    "HeadTail",
    "Ignore",
    "Leftovers",
    "Need",
    "PathRefused",
    "Restorer",
    "Sandbox",
    "SnapshotDamaged",
    "Snapshots",
    "Stage",
    "StaleFile",
    "SystemClock",
    "UnreadableFile",
    "Unseen",
    "Was",
    "Workspace",
    "WriteFailed",
    "alike",
    "blob_id",
    "command_env",
    "denied_paths",
    "editable",
    "expanded",
    "form_of",
    "left_out",
    "path_globs",
    "read_state",
    "remove_file",
    "run_process",
    "shell",
    "stored_state",
    "watch",
    "watch_files",
    "write_file",
]
