"""Show the change of one entry of what a command would change, from the blobs of a journal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..protocol.text.hunks import Split, hunk_text
from .text_diff import compare_contents, diff_head

if TYPE_CHECKING:
    from ..protocol import EffectEntry

Content = Callable[[str | None], bytes | None]
"""Returns the bytes of a blob. None means no blob."""


def entry_diff(entry: EffectEntry, content: Content) -> str:
    """Return the unified diff of an entry with text, whose hunks are those of a decision, or empty if it has none."""
    if not entry.is_text:
        return ""
    sides = compare_contents(content(entry.before), content(entry.after))
    if sides is None:
        return ""
    head = diff_head(entry.path, is_new=entry.before is None, is_gone=entry.change == "deleted")
    return head + hunk_text(Split(sides.old, sides.new, list(sides.compare())))
