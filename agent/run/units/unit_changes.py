"""What a pass or a try changed: its files, a hash by which equal changes are recognized, and its size in lines."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from ...protocol.text.hunks import split
from ...repo.old_snapshots.loose_objects import blob_id
from ...repo.patch_format import is_text

_BINARY_LINE = 80
"""Bytes of a binary file that count as one changed line."""


class UnitChange(msgspec.Struct, frozen=True, kw_only=True):
    """One file that differs."""

    path: str
    """Path relative to the workspace, separated by `/`."""
    before: bytes | None
    """The bytes of the file or the target of the link; None if there was no file."""
    after: bytes | None
    after_mode: int | None = None
    """Mode as in a git tree: 0o100644, 0o100755, or 0o120000 for a link; None if there is no file."""


def change_hash(changes: Sequence[UnitChange]) -> str:
    """Return a hash of the added and removed lines of all files, without line numbers, or empty if no changes."""
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


def changed_lines(changes: Sequence[UnitChange]) -> int:
    """Return the number of added and removed lines; in a binary file, 80 bytes count as one line."""
    return sum(_size(change) for change in changes)


def _size(change: UnitChange) -> int:
    if is_text(change.before or b"", change.after or b""):
        return len(_lines_of(change))
    return 1 + (len(change.before or b"") + len(change.after or b"")) // _BINARY_LINE


def _lines_of(change: UnitChange) -> list[bytes]:
    """Return the added and removed lines, with their signs."""
    old, new = ((side or b"").decode("latin-1") for side in (change.before, change.after))
    lines = list[bytes]()
    for hunk in (parts := split(old, new)).hunks:
        for one in hunk.changes:
            lines += [b"-" + line.encode("latin-1") for line in parts.old[one.a1 : one.a2]]
            lines += [b"+" + line.encode("latin-1") for line in parts.new[one.b1 : one.b2]]
    return lines
