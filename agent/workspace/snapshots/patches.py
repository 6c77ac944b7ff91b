"""Write changes as a patch for `git apply`, including binary files and modes, and compare changes by hash."""

from __future__ import annotations

import base64
import hashlib
import stat
import zlib
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from typing import TYPE_CHECKING

from ...protocol.text.path_text import quoted_path
from .objects import LINK, blob_id

if TYPE_CHECKING:
    from .snapshots import Change

_LONGEST = 400_000
"""Maximum bytes of a file that is compared line by line; a larger one is written as a whole."""
_PER_LINE = 52
_BINARY_LINE = 80
"""Bytes of a binary file that count as one changed line."""
_NOBODY = "0" * 40


def patch_of(changes: Sequence[Change]) -> bytes:
    """Return one patch with all changes. For a file that was too large to store, it contains only the name."""
    return b"".join(b"".join(_one(change)) for change in changes)


def change_hash(changes: Sequence[Change]) -> str:
    """Return a hash of the added and removed lines of all files, without line numbers; empty: no changes."""
    if not changes:
        return ""
    found = hashlib.sha256()
    for change in changes:
        found.update(b"\0" + change.path.encode("utf-8", "surrogateescape") + b"\0" + str(change.after_mode).encode())
        if _is_text(change):
            for line in _lines_of(change):
                if line[:1] in (b"+", b"-"):
                    found.update(line.rstrip() + b"\n")
        else:
            found.update(blob_id(change.before or b"").encode() + blob_id(change.after or b"").encode())
    return found.hexdigest()


def changed_lines(changes: Sequence[Change]) -> int:
    """Return the number of added and removed lines; in a binary file, 80 bytes count as one line."""
    return sum(_size(change) for change in changes)


def _size(change: Change) -> int:
    if _is_text(change):
        return sum(line[:1] in (b"+", b"-") for line in _lines_of(change))
    return 1 + (len(change.before or b"") + len(change.after or b"")) // _BINARY_LINE


def _one(change: Change) -> Iterator[bytes]:
    old, new = _bytes(quoted_path(f"a/{change.path}")), _bytes(quoted_path(f"b/{change.path}"))
    if change.kind == "large":
        yield b"# %s is too large to be kept\n" % _bytes(quoted_path(change.path))
        return
    yield b"diff --git %s %s\n" % (old, new)
    before, after = _git_mode(change.before_mode), _git_mode(change.after_mode)
    if change.before_mode is None:
        yield b"new file mode %s\n" % after
    elif change.after_mode is None:
        yield b"deleted file mode %s\n" % before
    elif before != after:
        yield b"old mode %s\nnew mode %s\n" % (before, after)
    if (change.before or b"") == (change.after or b""):
        return
    if not _is_text(change):
        yield from _binary(change)
        return
    yield b"--- %s\n" % (old if change.before_mode is not None else b"/dev/null")
    yield b"+++ %s\n" % (new if change.after_mode is not None else b"/dev/null")
    for line in _lines_of(change):
        yield line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"


def _is_text(change: Change) -> bool:
    sides = [side for side in (change.before, change.after) if side is not None]
    return all(b"\0" not in side and len(side) <= _LONGEST for side in sides)


def _lines_of(change: Change) -> list[bytes]:
    """Return the lines of the hunks, without the two lines that name the files."""
    old, new = (_split(side or b"") for side in (change.before, change.after))
    diff = list(unified_diff(old, new, lineterm=""))[2:]
    return [_bytes(line) + (b"\n" if line.startswith("@@") else b"") for line in diff]


def _split(data: bytes) -> list[str]:
    text = data.decode("utf-8", "surrogateescape")
    return [line + "\n" for line in text.split("\n")[:-1]] + ([last] if (last := text.rpartition("\n")[2]) else [])


def _bytes(line: str) -> bytes:
    return line.encode("utf-8", "surrogateescape")


def _binary(change: Change) -> Iterator[bytes]:
    before, after = change.before or b"", change.after or b""
    ids = tuple((_NOBODY if side is None else blob_id(side)).encode() for side in (change.before, change.after))
    yield b"index %s..%s\nGIT binary patch\n" % ids
    yield from _literal(after)
    yield from _literal(before)


def _literal(data: bytes) -> Iterator[bytes]:
    """Encode a binary patch: in each line, a letter for the length and 52 bytes in base 85 (gitformat-diff)."""
    yield b"literal %d\n" % len(data)
    packed = zlib.compress(data)
    for start in range(0, len(packed), _PER_LINE):
        piece = packed[start : start + _PER_LINE]
        letter = chr(len(piece) + (64 if len(piece) <= 26 else 70)).encode()
        yield letter + base64.b85encode(piece, pad=True) + b"\n"
    yield b"\n"


def _git_mode(mode: int | None) -> bytes:
    if mode == LINK:
        return b"120000"
    return b"100755" if mode is not None and mode & stat.S_IXUSR else b"100644"
