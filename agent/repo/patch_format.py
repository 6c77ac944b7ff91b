"""Write one file's change as git writes it in a diff (git-diff(1), gitformat-diff): `git apply` and `-R` take it."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterator
from typing import Literal, NamedTuple

from ..protocol.text.hunks import hunk_text, split
from ..protocol.text.path_text import quoted_path

Mode = Literal["100644", "100755", "120000"]
"""A plain file, an executable one, a link."""
LONGEST_TEXT = 2_000_000
"""Bytes of a file that is compared line by line; a larger one is written whole, as a binary file."""
_PER_LINE = 52


class Version(NamedTuple):
    """A file or link on one side of a change."""

    mode: Mode
    data: bytes
    """The bytes of the file, or the target of the link."""


def file_patch(path: str, before: Version | None, after: Version | None, hash_name: str = "sha1") -> bytes:
    """Return the patch of one path, or empty if nothing differs. A side is None if nothing is there.

    `path`: with `/`; bytes that are not UTF-8 as surrogates. `hash_name`: that of the repository (`sha1`, `sha256`),
    for binary files.
    """
    if before == after:
        return b""
    if before is not None and after is not None and (before.mode == "120000") != (after.mode == "120000"):
        return file_patch(path, before, None, hash_name) + file_patch(path, None, after, hash_name)
    return b"".join(_parts(path, before, after, hash_name))


def is_text(*sides: bytes) -> bool:
    """Return whether a patch shows the lines of both sides."""
    return all(b"\0" not in side and len(side) <= LONGEST_TEXT for side in sides)


def _parts(path: str, before: Version | None, after: Version | None, hash_name: str) -> Iterator[bytes]:
    old, new = (_bytes(quoted_path(f"{side}/{path}")) for side in "ab")
    yield b"diff --git %s %s\n" % (old, new)
    if before is None and after is not None:
        yield b"new file mode %s\n" % after.mode.encode()
    elif before is not None and after is None:
        yield b"deleted file mode %s\n" % before.mode.encode()
    elif before is not None and after is not None and before.mode != after.mode:
        yield b"old mode %s\nnew mode %s\n" % (before.mode.encode(), after.mode.encode())
    sides = [b"" if side is None else side.data for side in (before, after)]
    if sides[0] == sides[1]:
        return
    if not is_text(*sides):
        ids = [_blob_id(side and side.data, hash_name) for side in (before, after)]
        yield b"index %s..%s\nGIT binary patch\n" % (ids[0], ids[1])
        yield from _literal(sides[1])
        yield from _literal(sides[0])
        return
    end = b"\t\n" if b" " in old and not old.startswith(b'"') else b"\n"  # as git does for names with spaces
    yield b"--- %s" % (b"/dev/null\n" if before is None else old + end)
    yield b"+++ %s" % (b"/dev/null\n" if after is None else new + end)
    # one character for each byte, so that the same bytes come out
    yield hunk_text(split(sides[0].decode("latin-1"), sides[1].decode("latin-1"))).encode("latin-1")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _blob_id(data: bytes | None, hash_name: str) -> bytes:
    found = hashlib.new(hash_name, usedforsecurity=False)
    if data is None:
        return b"0" * (2 * found.digest_size)
    found.update(b"blob %d\0" % len(data) + data)
    return found.hexdigest().encode()


def _literal(data: bytes) -> Iterator[bytes]:
    """Encode a whole file: in each line, a letter for the length and 52 bytes in base 85."""
    yield b"literal %d\n" % len(data)
    packed = zlib.compress(data)
    for start in range(0, len(packed), _PER_LINE):
        piece = packed[start : start + _PER_LINE]
        letter = chr(len(piece) + (64 if len(piece) <= 26 else 70)).encode()
        yield letter + base64.b85encode(piece, pad=True) + b"\n"
    yield b"\n"
