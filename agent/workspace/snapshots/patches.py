"""Write changes as a patch for `git apply`, including binary files and modes, and compare changes by hash."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...protocol.text.hunks import split
from ...protocol.text.path_text import quoted_path
from ..git.patch_format import Version, file_patch, is_text
from .objects import LINK, blob_id

if TYPE_CHECKING:
    from .snapshots import Change

_BINARY_LINE = 80
"""Bytes of a binary file that count as one changed line."""


def patch_of(changes: Sequence[Change]) -> bytes:
    """Return one patch with all changes. For a file that was too large to store, it contains only the name."""
    return b"".join(map(_one, changes))


def change_hash(changes: Sequence[Change]) -> str:
    """Return a hash of the added and removed lines of all files, without line numbers; empty: no changes."""
    if not changes:
        return ""
    found = hashlib.sha256()
    for change in changes:
        found.update(b"\0" + change.path.encode("utf-8", "surrogateescape") + b"\0" + str(change.after_mode).encode())
        if is_text(change.before or b"", change.after or b""):
            for line in _lines_of(change):
                found.update(line.rstrip() + b"\n")
        else:
            found.update(blob_id(change.before or b"").encode() + blob_id(change.after or b"").encode())
    return found.hexdigest()


def changed_lines(changes: Sequence[Change]) -> int:
    """Return the number of added and removed lines; in a binary file, 80 bytes count as one line."""
    return sum(_size(change) for change in changes)


def _size(change: Change) -> int:
    if is_text(change.before or b"", change.after or b""):
        return len(_lines_of(change))
    return 1 + (len(change.before or b"") + len(change.after or b"")) // _BINARY_LINE


def _one(change: Change) -> bytes:
    if change.kind == "large":
        return f"# {quoted_path(change.path)} is too large to be kept\n".encode("utf-8", "surrogateescape")
    return file_patch(
        change.path, _version(change.before_mode, change.before), _version(change.after_mode, change.after)
    )


def _version(mode: int | None, data: bytes | None) -> Version | None:
    if mode is None:
        return None
    return Version("120000" if mode == LINK else "100755" if mode & stat.S_IXUSR else "100644", data or b"")


def _lines_of(change: Change) -> list[bytes]:
    """Return the added and removed lines, with their signs."""
    old, new = ((side or b"").decode("latin-1") for side in (change.before, change.after))
    lines = list[bytes]()
    for hunk in (parts := split(old, new)).hunks:
        for one in hunk.changes:
            lines += [b"-" + line.encode("latin-1") for line in parts.old[one.a1 : one.a2]]
            lines += [b"+" + line.encode("latin-1") for line in parts.new[one.b1 : one.b2]]
    return lines
