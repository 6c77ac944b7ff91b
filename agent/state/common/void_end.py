"""The end of a run whose files were changed or undone later: its statement about the files is void."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ...protocol import LoopKind, Outcome, Reason, RunEnded, Undone, exit_code
from ...protocol.text.counts import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def after_undo(ended: RunEnded, undone: Undone) -> RunEnded:
    """Return the end of a run after an undo of one or all of its files.

    The recorded event does not change: the result combines both.
    """
    if not undone.files and not undone.also:  # all files were kept as they are
        return ended
    return _voided(ended, undone_since=ended.undone_since + max(undone.changes, 1))


def after_undos(ended: RunEnded, undos: Iterable[Undone]) -> RunEnded:
    """Return the end of a run after these undos."""
    for undone in undos:
        ended = after_undo(ended, undone)
    return ended


def after_changes(ended: RunEnded, paths: Sequence[str]) -> RunEnded:
    """Return the end of a run after somebody changed these judged files."""
    return _voided(ended, changed_since=[*paths]) if paths and ended.complete else ended


def _voided(ended: RunEnded, **since: int | list[str]) -> RunEnded:
    code = exit_code(Reason.CLAIMED, complete=False) if ended.complete else ended.exit_code
    return msgspec.structs.replace(ended, complete=False, exit_code=code, evidence=None, **since)


def void_words(ended: RunEnded | Outcome) -> str:
    """Return why an outcome does not hold: `2 changes were undone since`; empty if it holds."""
    if ended.undone_since:
        return f"{plural(ended.undone_since, 'change')} {_were(ended.undone_since)} undone since"
    return changed_since_words(ended.changed_since) if ended.changed_since else ""


def changed_since_words(paths: Sequence[str]) -> str:
    """Return `calc.py and 2 more were changed since`."""
    more = f", {paths[1]}" if len(paths) == 2 else f" and {len(paths) - 1} more" if len(paths) > 2 else ""
    return f"{paths[0]}{more} {_were(len(paths))} changed since"


CHAT_ENDED = ("ended", "you ended the chat")
"""Word and detail of the end of a chat by its person, which is not a failure."""


def is_ended_chat(loop: LoopKind | None, ended: RunEnded | Outcome) -> bool:
    """Return whether the end only says that the person ended a chat."""
    return loop is LoopKind.CHAT and ended.reason is Reason.USER and not void_words(ended)


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def end_word(ended: RunEnded | Outcome) -> str:
    """Return the reason as lists and panels show it: `void` if it does not hold."""
    return "void" if void_words(ended) else ended.reason.words
