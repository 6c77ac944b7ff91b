"""Make the unified diff of a change from exactly the bytes that would be written."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from ...protocol.text.path_text import quoted_path
from ...workspace.files.content import text_format_of
from .hunks import Hunk, Sides, Split, sides_of

if TYPE_CHECKING:
    from ...workspace.files.states import FileState


def split_bytes(before: FileState, after: bytes | None) -> Split | None:
    """Split the change into hunks. None if either content is not text in the file's encoding."""
    sides = None if before.is_binary else _sides(before.data, after, before.encoding)
    return Split(sides.old, sides.new, list(sides.compare())) if sides else None


def compare_contents(before: bytes | None, after: bytes | None) -> Sides | None:
    """Split both contents into lines (None: no such file). The hunks are those of `split_bytes`, which `Decide` names.

    Returns None if either content is not text in the old one's encoding.
    """
    return _sides(before or b"", after, text_format_of(before or b"").encoding)


def _sides(before: bytes, after: bytes | None, encoding: str) -> Sides | None:
    try:
        return sides_of(before.decode(encoding), (after or b"").decode(encoding)) if encoding else None
    except UnicodeDecodeError:
        return None


def unified(path: str, before: FileState, after: bytes | None, parts: Split | None) -> str:
    """Return the diff as `git diff` prints it, with every changed line. For binary content it names the sizes."""
    head = diff_head(path, is_new=not before.exists, is_gone=after is None)
    if parts is None:
        return f"{head}Binary: {before.size:,} bytes before, {len(after or b''):,} bytes after\n"
    return head + hunk_text(parts)


def diff_head(path: str, *, is_new: bool, is_gone: bool) -> str:
    """Return the two lines that name the file in a diff."""
    old = "/dev/null" if is_new else quoted_path(f"a/{path}")
    new = "/dev/null" if is_gone else quoted_path(f"b/{path}")
    return f"--- {old}\n+++ {new}\n"


def hunk_text(parts: Split, only: Collection[int] | None = None) -> str:
    """Return the `@@` sections: all of them, or only the given ones."""
    wanted = [hunk for hunk in parts.hunks if only is None or hunk.index in only]
    return "".join(line for hunk in wanted for line in _lines(parts, hunk))


def _lines(parts: Split, hunk: Hunk) -> Iterator[str]:
    first, last = hunk.changes[0], hunk.changes[-1]
    a1, a2 = hunk.around(len(parts.old))
    b1 = max(0, first.b1 - (first.a1 - a1))
    b2 = last.b2 + (a2 - last.a2)
    yield f"@@ -{_range(a1, a2)} +{_range(b1, b2)} @@\n"
    at = a1
    for change in hunk.changes:
        yield from (_marked(" ", line) for line in parts.old[at : change.a1])
        yield from (_marked("-", line) for line in parts.old[change.a1 : change.a2])
        yield from (_marked("+", line) for line in parts.new[change.b1 : change.b2])
        at = change.a2
    yield from (_marked(" ", line) for line in parts.old[at:a2])


def _range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _marked(mark: str, line: str) -> str:
    return mark + line if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"
