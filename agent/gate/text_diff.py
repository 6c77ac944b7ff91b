"""Make the unified diff of a change from exactly the bytes that would be written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..host.files.file_content import text_format_of
from ..protocol.text.hunks import Sides, Split, hunk_text, sides_of
from ..protocol.text.path_text import quoted_path

if TYPE_CHECKING:
    from ..host.files.file_states import FileState


def split_bytes(before: FileState, after: bytes | None) -> Split | None:
    """Split the change into hunks. None if either content is not text in the file's encoding."""
    sides = None if before.is_binary else _sides(before.data, after, before.encoding)
    return Split(sides.old, sides.new, list(sides.compare())) if sides else None


def compare_contents(before: bytes | None, after: bytes | None) -> Sides | None:
    """Split both contents into lines (None means no file). The hunks are those of `split_bytes`, which `Decide` names.

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
