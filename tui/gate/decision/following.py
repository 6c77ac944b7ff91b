"""What a person made of a proposal, once its file changed under it. No textual in here."""

from __future__ import annotations

from collections.abc import Callable

from rundry.agent import ProposalOpened, RundryError

from ...diff import Diff, diff_of, diff_of_text
from .editing import opened
from .merge import carried
from .pending_decision import Thoughts
from .picks import Picks, matched
from .spans import contents_of

Content = Callable[[str | None], bytes | None]
"""A blob's bytes. Raises RundryError where it is not there."""


def follow(thoughts: Thoughts, was: ProposalOpened, now: ProposalOpened, content: Content) -> None:
    """Marks and reasons stay with the hunks that are as they were, and the person's own text with what it changed.

    A text that cannot be carried over is no longer what is approved: it becomes the draft of the next edit, until the
    file is again what it was made for.
    """
    if thoughts.is_plain:
        thoughts.picks = Picks()
        return
    if thoughts.draft is not None and now.before == thoughts.fitted:
        thoughts.edited, thoughts.draft = thoughts.draft, None
        thoughts.picks, thoughts.target = Picks(), None
        return
    path = now.path or ""
    before, after = diff_of_text(path, was.diff), diff_of_text(path, now.diff)
    if thoughts.edited is not None:
        edited = _carried(thoughts.edited, was, now, content)
        if edited is None:
            thoughts.draft, thoughts.edited, thoughts.picks = thoughts.edited, None, Picks()
            thoughts.fitted = was.before
        else:
            before = _diff(path, content(was.before), thoughts.edited)
            after = _diff(path, content(now.before), edited)
            thoughts.edited = edited
    there = matched(contents_of(before), contents_of(after))
    thoughts.picks = thoughts.picks.carried(there, len(after.hunks))
    moved = {hunk: there.get(hunk) for hunk in thoughts.typed if hunk is not None}
    kept = {new: thoughts.typed[hunk] for hunk, new in moved.items() if new is not None}
    thoughts.typed = {**({None: thoughts.typed[None]} if None in thoughts.typed else {}), **kept}
    if thoughts.target is not None:
        thoughts.target = there.get(thoughts.target)


def _diff(path: str, before: bytes | None, edited: str) -> Diff:
    try:
        return diff_of(path, before, opened(before).bytes_of(edited))
    except RundryError:
        return diff_of(path, before, edited.encode())


def _carried(edited: str, was: ProposalOpened, now: ProposalOpened, content: Content) -> str | None:
    try:
        return carried(opened(content(was.before)).text, edited, opened(content(now.before)).text)
    except RundryError:
        return None
