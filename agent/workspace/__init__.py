"""Access to the machine around a run: paths, files, processes, snapshots, file watching, the sandbox, the clock."""

from .clock import SystemClock
from .errors import PathRefused, SnapshotDamaged, StaleFile, UnreadableFile, WriteFailed
from .files.content import text_format_of
from .files.file_glob import FileGlob
from .files.states import FileState, read_state, stored_state, why_not_editable
from .files.write import remove_file, write_file
from .ignore import Ignore
from .leftovers import Leftovers
from .paths import Workspace
from .processes.output import HeadTail
from .processes.process_tree import ProcessTree
from .processes.processes import Finished, run_process, shell
from .sandbox.access import Access
from .sandbox.bubblewrap import Stage
from .sandbox.confined import OWN_GIT, HideRules, command_env, denied_paths, expand_home, omitted_variables, path_globs
from .sandbox.refused import MissingAccess
from .sandbox.sandbox import Sandbox
from .snapshots.objects import blob_id
from .snapshots.restore import FileVersion, Restorer, same_content
from .snapshots.snapshots import Change, Snapshots
from .watch import watch, watch_files

__all__ = [
    "OWN_GIT",
    "Access",
    "Change",
    "FileGlob",
    "FileState",
    "FileVersion",
    "Finished",
    "HeadTail",
    "HideRules",
    "Ignore",
    "Leftovers",
    "MissingAccess",
    "PathRefused",
    "ProcessTree",
    "Restorer",
    "Sandbox",
    "SnapshotDamaged",
    "Snapshots",
    "Stage",
    "StaleFile",
    "SystemClock",
    "UnreadableFile",
    "Workspace",
    "WriteFailed",
    "blob_id",
    "command_env",
    "denied_paths",
    "expand_home",
    "omitted_variables",
    "path_globs",
    "read_state",
    "remove_file",
    "run_process",
    "same_content",
    "shell",
    "stored_state",
    "text_format_of",
    "watch",
    "watch_files",
    "why_not_editable",
    "write_file",
]
