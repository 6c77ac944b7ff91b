"""What rundry asks of the operating system: reports of changes, the places of programs, plain files."""

from .crash import crash_point
from .inotify import Inotify
from .plain_files import read_plain, walk_folders
from .programs import find_program, path_outside

__all__ = ["Inotify", "crash_point", "find_program", "path_outside", "read_plain", "walk_folders"]
