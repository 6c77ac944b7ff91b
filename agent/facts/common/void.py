"""The end of a run after an undo: what it says about the files does not hold any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ...protocol import Outcome, Reason, RunEnded, Undone, exit_code

if TYPE_CHECKING:
    from collections.abc import Iterable


def after_undo(ended: RunEnded, undone: Undone) -> RunEnded:
    """Return the end as it stands after an undo of what the run changed, of one file or of all.

    The recorded event stays as it is: this is a fold of both.
    """
    if not undone.files and not undone.also:  # all files were kept as they are
        return ended
    code = exit_code(Reason.CLAIMED, complete=False) if ended.complete else ended.exit_code
    undone_since = ended.undone_since + max(undone.changes, 1)
    return msgspec.structs.replace(ended, undone_since=undone_since, complete=False, exit_code=code, evidence=None)


def after_undos(ended: RunEnded, undos: Iterable[Undone]) -> RunEnded:
    """Return the end as it stands after these undos."""
    for undone in undos:
        ended = after_undo(ended, undone)
    return ended


def void_words(ended: RunEnded | Outcome) -> str:
    """Return why an outcome does not hold: `2 changes were undone since`; empty if it holds."""
    count = ended.undone_since
    return f"{count} change{'' if count == 1 else 's'} {'was' if count == 1 else 'were'} undone since" if count else ""


def end_word(ended: RunEnded | Outcome) -> str:
    """Return the reason as lists and panels show it: `void` after an undo."""
    return "void" if ended.undone_since else ended.reason.words
