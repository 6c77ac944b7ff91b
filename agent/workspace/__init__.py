"""Access to the machine around a run: paths, files, processes, snapshots, file watching, the sandbox, the clock."""

from .clock import SystemClock
from .errors import PathRefused, SnapshotDamaged, StaleFile, UnreadableFile, WriteFailed
from .files.content import form_of
from .files.file_glob import FileGlob
from .files.states import FileState, editable, read_state, stored_state
from .files.write import remove_file, write_file
from .ignore import Ignore
from .leftovers import Leftovers
from .paths import Workspace
from .processes.output import HeadTail
from .processes.process_tree import Family
from .processes.processes import Finished, run_process, shell
from .sandbox.access import Access
from .sandbox.bubblewrap import Stage
from .sandbox.confined import OWN_GIT, HideRules, command_env, denied_paths, expanded, left_out, path_globs
from .sandbox.refused import Need
from .sandbox.sandbox import Sandbox
from .snapshots.objects import blob_id
from .snapshots.restore import Restorer, Was, alike
from .snapshots.snapshots import Change, Snapshots
from .watch import watch, watch_files

__all__ = [
    "OWN_GIT",
    "Access",
    "Change",
    "Family",
    "FileGlob",
    "FileState",
    "Finished",
    "HeadTail",
    "HideRules",
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
