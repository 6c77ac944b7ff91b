"""Operating-system functions: change notifications, programs, extras, safe file reading, host names, certificates."""

from .crash import crash_point
from .extras import missing_extra
from .hosts import Target, read_host, read_target, split_host
from .inotify import Inotify
from .internet import address_in_entry, may_resolve_to
from .lock_holder import lock_holder
from .memory import return_freed_memory
from .plain_files import read_plain, walk_folders
from .programs import find_program, path_outside
from .real_paths import real_path
from .tables import read_table
from .tls import import_aiohttp, tls

__all__ = [
    "Inotify",
    "Target",
    "address_in_entry",
    "crash_point",
    "find_program",
    "import_aiohttp",
    "lock_holder",
    "may_resolve_to",
    "missing_extra",
    "path_outside",
    "read_host",
    "read_plain",
    "read_table",
    "read_target",
    "real_path",
    "return_freed_memory",
    "split_host",
    "tls",
    "walk_folders",
]
