"""Read refs from the files of an untrusted git folder."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ..host.plain_files import read_plain, walk_folders

ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_IMPORTED = ("refs/heads/", "refs/tags/", "refs/remotes/", "refs/notes/")
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|\.lock(?:/|$)|\.$|/$|(?:^|/)[.-]")
"""Ref names that git does not allow (git-check-ref-format(1)), or with a part that looks like an option."""
_MOST_REFS = 200_000
_PACKED = 64_000_000


def is_importable(name: str) -> bool:
    """Return whether importing the ref is safe: git executes nothing because of it and does not replace objects."""
    if name == "refs/stash":
        return True
    return name.startswith(_IMPORTED) and name.isprintable() and not _FORBIDDEN.search(name) and len(name) < 1_000


def read_refs(folder: Path) -> dict[str, str]:
    """Return a map from the names of all refs below `refs/` to object ids; a symbolic ref maps to `ref: NAME`."""
    found = dict[str, str]()
    try:
        for line in read_plain(folder / "packed-refs", _PACKED).decode("utf-8", "surrogateescape").split("\n"):
            value, _, name = line.partition(" ")
            if ID.fullmatch(value) and name.startswith("refs/"):
                found[name] = value
    except FileNotFoundError:
        found.clear()
    top = str(folder)
    for place, _, files in walk_folders(folder / "refs"):
        for file in files:
            name = f"{place[len(top) + 1 :]}/{file}"
            if not name.endswith(".lock") and len(found) < _MOST_REFS:
                found |= _loose(Path(place) / file, name)
    return found


def _loose(file: Path, name: str) -> dict[str, str]:
    try:
        text = read_plain(file, 4_096).decode().strip()
    except (OSError, UnicodeDecodeError):
        return {}
    return {name: text} if ID.fullmatch(text) or text.startswith("ref: refs/") else {}


def stat_of(path: str) -> tuple[int, ...]:
    """Return the stat fields that change with a file or folder; empty if it does not exist."""
    try:
        status = os.lstat(path)
    except OSError:
        return ()
    return (status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
