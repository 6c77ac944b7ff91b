"""What a review looks at, and where its findings lie, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.text.counts import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....protocol import DiffCut, Relation

_MOST = 5
"""Files that a line names."""


def diff_words(event: DiffCut) -> str:
    """Return what is reviewed, in how many parts, and what is not shown to the model, in one line."""
    parts = f" in {event.parts:,} parts" if event.parts > 1 else ""
    return f"reviews {event.what}, {plural(event.files, 'file')}{parts}{not_shown(event.left_out)}"


def not_shown(left_out: Sequence[str]) -> str:
    """Return which files were not looked at, as the end of a sentence; empty if there are none."""
    if not left_out:
        return ""
    more = f" and {len(left_out) - _MOST:,} more" if len(left_out) > _MOST else ""
    return f"; not looked at: {', '.join(left_out[:_MOST])}{more}"


def relation_words(relation: Relation) -> str:
    """Return where a finding of a review lies; empty in other searches."""
    match relation:
        case "changed":
            return "on a line of the diff"
        case "affected":
            return "outside of the diff, caused by it"
        case "outside":
            return "outside of the diff"
        case "":
            return ""
