"""Make a clean checkout of a run's result: its files, its dependency folders, its repository."""

from .backlinks import first_backlink
from .clean_git import OBJECTS, add_tracked_files, create_git_folder
from .folders import FolderKind, dependency_folders, ignored_names
from .manifest import Compared, Manifest, TooManyFiles, compare, record
from .submodules import activate_submodules

__all__ = [
    "OBJECTS",
    "Compared",
    "FolderKind",
    "Manifest",
    "TooManyFiles",
    "activate_submodules",
    "add_tracked_files",
    "compare",
    "create_git_folder",
    "dependency_folders",
    "first_backlink",
    "ignored_names",
    "record",
]
