"""Carry the person's choices and edits over to a proposal whose file changed. Does not import textual."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from rundry.agent import ProposalOpened, RundryError

from ..diff.contents import diff_of
from ..diff.unified import diff_of_text
from .edited_text import opened
from .hunk_choices import HunkChoices, matched
from .hunk_lines import contents_of

if TYPE_CHECKING:
    from ..diff.diff_rows import Diff
    from .pending_decision import PendingDecision

Content = Callable[[str | None], bytes | None]
"""Returns the bytes of a blob. Raises RundryError if the blob does not exist."""


def follow(pending: PendingDecision, was: ProposalOpened, now: ProposalOpened, content: Content) -> None:
    """Keep choices and reasons of unchanged hunks, and apply the person's own edit to the changed file.

    An edit that cannot be applied is no longer what is approved: it becomes the draft of the next edit, until the file
    has the content for which it was made.
    """
    if pending.is_plain:
        pending.picks = HunkChoices()
        return
    if pending.draft is not None and now.before == pending.fitted:
        pending.edited, pending.draft = pending.draft, None
        pending.picks, pending.cuts, pending.target = HunkChoices(), {}, None
        return
    path = now.path or ""
    before, after = diff_of_text(path, was.diff), diff_of_text(path, now.diff)
    if pending.edited is not None:
        edited = _follow_edit(pending.edited, was, now, content)
        if edited is None:
            pending.draft, pending.edited, pending.picks = pending.edited, None, HunkChoices()
            pending.fitted, pending.cuts = was.before, {}
        else:
            before = _diff(path, content(was.before), pending.edited)
            after = _diff(path, content(now.before), edited)
            pending.edited = edited
    found = matched(contents_of(before), contents_of(after))
    cuts = {found[hunk]: rows for hunk, rows in pending.cuts.items() if hunk in found}
    firsts = _first_parts(len(before.hunks), pending.cuts), _first_parts(len(after.hunks), cuts)
    there = {
        firsts[0][hunk] + part: firsts[1][to] + part
        for hunk, to in found.items()
        for part in range(len(pending.cuts.get(hunk, ())) + 1)
    }
    pending.picks, pending.cuts = pending.picks.carried(there, firsts[1][-1]), cuts
    moved = {hunk: there.get(hunk) for hunk in pending.typed if hunk is not None}
    kept = {new: pending.typed[hunk] for hunk, new in moved.items() if new is not None}
    pending.typed = {**({None: pending.typed[None]} if None in pending.typed else {}), **kept}
    if pending.target is not None:
        pending.target = there.get(pending.target)


def _first_parts(count: int, cuts: Mapping[int, Sequence[int]]) -> list[int]:
    """Return the index of the first part of each of `count` hunks, and the number of all parts."""
    return [*accumulate((len(cuts.get(hunk, ())) + 1 for hunk in range(count)), initial=0)]


def _diff(path: str, before: bytes | None, edited: str) -> Diff:
    try:
        return diff_of(path, before, opened(before).bytes_of(edited))
    except RundryError:
        return diff_of(path, before, edited.encode())


def _follow_edit(edited: str, was: ProposalOpened, now: ProposalOpened, content: Content) -> str | None:
    try:
        return carried(opened(content(was.before)).text, edited, opened(content(now.before)).text)
    except RundryError:
        return None


def carried(base: str, edited: str, now: str) -> str | None:
    """Return `now` with the changes from `base` to `edited`, or None if both changed the same place."""
    from rundry.agent import compare_contents  # the gate costs ~15 ms to import

    raw = base.encode()
    mine, theirs = compare_contents(raw, edited.encode()), compare_contents(raw, now.encode())
    if mine is None or theirs is None:
        return None
    others = [change for hunk in theirs.compare() for change in hunk.changes]
    pieces: list[str] = []
    at = shift = done = 0
    for hunk in mine.compare():
        for a1, a2, b1, b2 in hunk.changes:
            while done < len(others) and others[done].a2 < a1:
                other = others[done]
                shift += (other.b2 - other.b1) - (other.a2 - other.a1)
                done += 1
            if done < len(others) and others[done].a1 <= a2:
                return None
            pieces += theirs.new[at : a1 + shift]
            pieces += mine.new[b1:b2]
            at = a2 + shift
    return "".join([*pieces, *theirs.new[at:]])
