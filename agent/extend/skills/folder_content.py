"""Read the files of one skill, within bounds, and compute the digest by which it is trusted."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from ...host.plain_files import read_plain, walk_folders

SKILL_FILE = "SKILL.md"
LARGEST_TEXT = 200_000
"""Bytes of a `SKILL.md`, or of a slash command."""
_MOST_FILES = 1_000
_MOST_BYTES = 20_000_000
_SKIPPED = ("__pycache__", ".git")
"""Folders that are not part of a skill. Running its scripts changes the first one."""


class BadSkill(ValueError):
    """A skill or a slash command cannot be used. The message says why."""


def read_text(path: Path) -> tuple[str, bytes]:
    """Return the text of a file, and its bytes. Raises BadSkill."""
    try:
        data = read_plain(path, LARGEST_TEXT)
        return data.decode("utf-8-sig"), data
    except UnicodeDecodeError as error:
        raise BadSkill(f"{path.name} is not UTF-8 (byte {error.start})") from None
    except OSError as error:
        raise BadSkill(f"{path.name} cannot be read: {error.strerror}") from None


def read_skill_folder(folder: Path) -> tuple[str, str]:
    """Return the text of `SKILL.md`, and the digest of all files of the skill. Raises BadSkill.

    The text is part of what the digest was computed from.
    """
    text, data = read_text(folder / SKILL_FILE)
    whole, total = hashlib.sha256(), 0
    for name in _files(folder):
        content = data if name == SKILL_FILE else _content(folder / name, _MOST_BYTES - total, name)
        total += len(content)
        whole.update(f"{len(os.fsencode(name))}:".encode() + os.fsencode(name) + f":{len(content)}:".encode())
        whole.update(content)
    return text, whole.hexdigest()


def text_digest(data: bytes) -> str:
    """Return the digest by which a single file is trusted."""
    return hashlib.sha256(data).hexdigest()


def _files(folder: Path) -> list[str]:
    """Return the names of all files, relative to the folder and sorted. Raises BadSkill."""
    found: list[str] = []
    for place, folders, files in walk_folders(folder):
        folders[:] = [name for name in folders if name not in _SKIPPED]
        below = os.path.relpath(place, folder)
        found += [name if below == "." else f"{below}/{name}" for name in files]
        if len(found) > _MOST_FILES:
            raise BadSkill(f"it has more than {_MOST_FILES:,} files")
    return sorted(found)


def _content(path: Path, limit: int, name: str) -> bytes:
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise BadSkill(f"{name} is not a regular file: remove it from the skill")
        return read_plain(path, max(0, limit))
    except OSError as error:
        if path.is_file() and path.stat().st_size > limit:
            raise BadSkill(f"its files are larger than {_MOST_BYTES:,} bytes") from None
        raise BadSkill(f"{name} cannot be read: {error.strerror}") from None
