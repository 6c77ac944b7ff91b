"""Refs, HEAD and reflogs as files, read from a folder that a stranger may have written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from ....system import read_plain, walk_folders

ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_BRANCH = re.compile(r"ref: (refs/heads/\S+)")
_IMPORTED = ("refs/heads/", "refs/tags/", "refs/remotes/", "refs/notes/")
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|\.lock(?:/|$)|\.$|/$|(?:^|/)[.-]")
"""git-check-ref-format(1), and no part that looks like an option."""
_LOG_LINE = re.compile(rf"({ID.pattern}) ({ID.pattern}) [^\n<>\0]*<[^\n<>\0]*> \d+ [+-]\d{{4}}(?:\t[^\n\0\x1b]*)?")
_LONGEST_LINE = 10_000
_MOST_REFS = 200_000
_PACKED = 64_000_000
_LOG = 16_000_000


def is_importable(name: str) -> bool:
    """Return whether importing the ref is safe: git runs nothing for it, and replaces no object with it."""
    if name == "refs/stash":
        return True
    return name.startswith(_IMPORTED) and name.isprintable() and not _FORBIDDEN.search(name) and len(name) < 1_000


def head_of(folder: Path) -> str:
    """What HEAD says, `ref: refs/heads/x` or an object id; empty where it says neither."""
    try:
        text = read_plain(folder / "HEAD", 4_096).decode().strip()
    except (OSError, UnicodeDecodeError):
        return ""
    if ID.fullmatch(text):
        return text
    found = _BRANCH.fullmatch(text)
    return text if found and is_importable(found[1]) else ""


def read_refs(folder: Path) -> dict[str, str]:
    """Return name to object id of all refs below `refs/`; a symbolic one has `ref: NAME` instead of an id."""
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


def ref_marks(folder: Path) -> Iterator[str]:
    """Yield the folders and files whose stat fields change when git changes a ref: it renames a lock file."""
    yield str(folder / "packed-refs")
    for place, _, _ in walk_folders(folder / "refs"):
        yield place


def read_log(file: Path) -> bytes | None:
    """Return a reflog whose lines all have their form; None: there is none, or it has other lines."""
    try:
        data = read_plain(file, _LOG)
    except OSError:
        return None
    return data if is_log(data) else None


def is_log(data: bytes) -> bool:
    """Return whether each line has the form of a reflog entry."""
    text = data.decode("utf-8", "replace")
    lines = text.split("\n")
    return lines[-1] == "" and all(len(line) < _LONGEST_LINE and _LOG_LINE.fullmatch(line) for line in lines[:-1])


def log_ids(data: bytes) -> list[str]:
    """Return the object ids that a reflog names, without those of all zeros."""
    found = (match for line in data.decode("utf-8", "replace").split("\n") if (match := _LOG_LINE.fullmatch(line)))
    ids = {value for match in found for value in (match[1], match[2])}
    return sorted(value for value in ids if value.strip("0"))


def stat_of(path: str) -> tuple[int, ...]:
    """Return the fields that tell that a file or folder changed; empty where there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return ()
    return (status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
