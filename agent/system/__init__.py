"""What rundry asks of the operating system: reports of changed files, and the places of programs."""

from .inotify import Inotify
from .programs import find_program, path_outside

__all__ = ["Inotify", "find_program", "path_outside"]
