"""The proposal's name, the counts of accepted hunks, and what the person should know before they decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from ..keys.clicks import clickable
from ..keys.screen_keymap import ScreenKeymap, keymap_of
from .entry_choices import counts_of
from .proposal_words import about, counted, name, notes, waiting_list

if TYPE_CHECKING:
    from ..diff.diff_pane import DiffPane
    from .gate_review import Review
    from .pending_decision import Shown

ROOMY = 30
"""Height of the screen from which there is room for a blank line and for the list of waiting proposals."""
TIGHT = 18
"""Height of the screen below which the gate has one line above the change, if there is no danger."""
_WIDE = 90
"""Width from which the key for two columns is shown."""


class GateHead(Static):
    """The title line, the list of waiting proposals, and a line for each note."""

    DEFAULT_CSS = """
    GateHead { height: auto; padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__("", id="head", markup=False)
        self.rows = 1
        """Approximate number of rows that it needs."""
        self.is_read_only = False
        """The view can only show the proposal: no key that decides is named."""

    def show_title(
        self,
        review: Review,
        shown: Shown,
        pane: DiffPane | None,
        *,
        editing: bool,
        full: bool,
        explained: bool,
        asking: bool,
        width: int,
    ) -> None:
        """Update the lines. `pane`: the diff below, `width` cells wide. `full`: the panel has the full height.

        `editing`: an editor is open. `explained`: each reason in full. `asking`: a notice below needs the room on a
        small screen.
        """
        height = self.screen.size.height
        about = _about(review, shown, pane, editing=editing)
        if editing:
            lines = [_left(shown, about)]
        else:
            switches = _switches(keymap_of(self), pane if width >= _WIDE else None, full=full)
            lines = [_title(review, shown, about, switches, width, is_tight=height < TIGHT)]
        if review.place[1] > 1 and height >= ROOMY:
            waiting = waiting_list(review.waiting, review.place[0] - 1, width)
            lines.append(Content("   ").join([_waiting(text, is_shown=at) for text, at in waiting]))
        found = notes(
            shown.proposal,
            review.rebasing,
            review.pending,
            keymap_of(self),
            explained=explained,
            is_tight=height < TIGHT,
            acts=not self.is_read_only,
        )
        if not (asking and height < TIGHT):
            lines += [Content.styled(text, "bold $verdict-bad" if danger else "$dim") for text, danger in found]
        self.rows = sum(1 + max(0, line.cell_length - 1) // max(1, width) for line in lines)
        self.update(Content("\n").join(lines))


def _about(review: Review, shown: Shown, pane: DiffPane | None, *, editing: bool) -> str:
    diff = pane.diff if pane is not None else None
    if editing:
        return "your version"
    if shown.in_conflict and review.pending.edited is None:
        return ""
    if review.pending.edited is not None and diff is not None:
        new = "new file  " * (shown.proposal.before is None)
        return new + counted(len(diff.hunks), diff.added, diff.removed)
    return about(shown.proposal, len(diff.hunks) if diff is not None and review.pending.cuts else None)


def _left(shown: Shown, about: str) -> Content:
    return Content.assemble((name(shown.proposal), "bold $bright"), "   ", (about, "$dim"))


def _switches(keymap: ScreenKeymap, pane: DiffPane | None, *, full: bool) -> Content:
    switches = [("f", "smaller" if full else "full")]
    if pane is not None and pane.diff is not None:
        switches.insert(0, ("v", "unified" if pane.is_split else "side by side"))
    return Content("  ").join([keymap.word("gate", key, what, style="$dim") for key, what in switches])


def _title(review: Review, shown: Shown, about: str, switches: Content, width: int, *, is_tight: bool) -> Content:
    """Return name and size on the left, counts and switches on the right: the longest form that fits in one line.

    If none fits, the counts take a line of their own, and on a tight screen the name is shortened.
    """
    counts, short = _counts(review, shown, is_long=True), _counts(review, shown, is_long=False)
    has_sizes = shown.proposal.path is not None or shown.proposal.effects is not None
    sizes = about[max(0, about.rfind("+")) :] if has_sizes else about
    most = Content("     ").join([counts, switches]) if counts else switches
    for words, right in ((about, most), (about, counts), (about, short), (sizes, short)):
        left = _left(shown, words)
        gap = width - left.cell_length - right.cell_length
        if gap >= 3:
            return Content.assemble(left, " " * gap, right)
    if shown.proposal.effects is not None and not is_tight:
        room = width - short.cell_length - 2
        first = Content.styled(name(shown.proposal), "bold $bright")
        second = Content.styled(about if len(about) <= room else sizes, "$dim")
        return Content.assemble(
            first, "\n", second, " " * max(2, width - second.cell_length - short.cell_length), short
        )
    if not is_tight:
        right = counts if counts.cell_length <= width else short
        return Content("\n").join([_left(shown, about), right]) if counts else _left(shown, about)
    room, title = width - short.cell_length - 2, name(shown.proposal)
    left = Content.styled(title if len(title) <= room else f"…{title[len(title) - room + 1 :]}", "bold $bright")
    return Content.assemble(left, " " * max(0, width - left.cell_length - short.cell_length), short)


def _counts(review: Review, shown: Shown, *, is_long: bool) -> Content:
    """Return the place among what waits, and how many hunks are accepted."""
    picks, proposal = review.pending.picks, shown.proposal
    place, count = review.place
    found: list[Content] = []
    if proposal.files:
        where = (f"{proposal.file} of {proposal.files} files" + " in this answer" * is_long, "$needs-you")
        found.append(_turning(where) if count > 1 else Content.assemble(where))
    elif count > 1:
        found.append(_turning((f"{place} of {count}" + " waiting" * is_long, "$needs-you")))
    accepted_count, skipped_count, whole = picks.accepted_count, picks.skipped_count, review.whole
    if proposal.effects is not None:
        accepted_count, skipped_count = counts_of(proposal.effects, review.pending)
    elif review.opened is not None and review.is_entry_of_several and whole is not None and whole.effects is not None:
        where = f"{review.opened + 1} of {len(whole.effects.entries)}" + " changes" * is_long
        found.append(Content.styled(where, "$dim"))
    if shown.count and (picks.count > 1 or skipped_count):
        accepted = "$foreground" if accepted_count else "$dim"
        others = "$foreground" if skipped_count else "$dim"
        words = ("accepted ", "skipped ") if is_long else ("", "")
        found.append(
            Content.assemble(
                (f"◉ {words[0]}{accepted_count}", accepted),
                "  " if is_long else " ",
                (f"○ {words[1]}{skipped_count}", others),
            )
        )
    return Content("   " if is_long else "  ").join(found)


def _turning(where: tuple[str, str]) -> Content:
    """Return a place among several, between the keys that lead to the others."""
    before, after = clickable(Content("< "), "previous_waiting"), clickable(Content(" >"), "next_waiting")
    return before + Content.assemble(where) + after


def _waiting(text: str, *, is_shown: bool) -> Content:
    return Content.styled(f"▸ {text}", "$foreground") if is_shown else Content.styled(f"  {text}", "$dim")
