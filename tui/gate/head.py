"""What is proposed, how much of it is taken, and what a person should know before they decide."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from ..diff import Diff
from .decision.pending_decision import Shown
from .decision.review import Review
from .words import about, counted, name, notes, waiting_list

ROOMY = 30
"""Rows of a screen from which on there is room for a blank line, and for a list of what waits."""
_WIDE = 90
"""Cells from which on the key for two columns is named."""


class GateHead(Static):
    """The title line, the list of what waits, a line for each thing to know."""

    DEFAULT_CSS = """
    GateHead { height: auto; padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__("", id="head", markup=False)
        self.rows = 1
        """That it takes, about."""

    def tell(self, review: Review, shown: Shown, diff: Diff | None, *, editing: bool, full: bool, width: int) -> None:
        """`diff` is what stands below, in `width` cells, on the `full` height; `editing`: not now, a text does."""
        place, count = review.place
        about = _about(review, shown, diff, editing=editing)
        left = Content.assemble((name(shown.proposal), "bold $bright"), "   ", (about, "$dim"))
        has_split = diff is not None and width >= _WIDE
        switches = [("s", "split")] * has_split + [("f", "smaller" if full else "full")]
        lines = [left if editing else _title(left, review, shown, switches, width)]
        if count > 1 and self.screen.size.height >= ROOMY:
            waiting = waiting_list(review.waiting, place - 1, width)
            lines.append(Content("   ").join([_waiting(text, is_shown=at) for text, at in waiting]))
        for text, danger in notes(shown.proposal, review.rebasing, review.thoughts):
            lines.append(Content.styled(text, "bold $verdict-bad" if danger else "$dim"))
        self.rows = sum(1 + max(0, line.cell_length - 1) // max(1, width) for line in lines)
        self.update(Content("\n").join(lines))


def _about(review: Review, shown: Shown, diff: Diff | None, *, editing: bool) -> str:
    if editing:
        return "your version"
    if shown.in_conflict and review.thoughts.edited is None:
        return ""
    if review.thoughts.edited is not None and diff is not None:
        new = "new file  " * (shown.proposal.before is None)
        return new + counted(len(diff.hunks), diff.added, diff.removed)
    return about(shown.proposal)


def _title(left: Content, review: Review, shown: Shown, switches: Sequence[tuple[str, str]], width: int) -> Content:
    picks = review.thoughts.picks
    place, count = review.place
    counts: list[Content] = []
    if count > 1:
        counts.append(
            Content.assemble("< ", (f"{place} of {count}" + " waiting" * (width >= _WIDE), "$needs-you"), " >")
        )
    if shown.spans and (picks.count > 1 or picks.left_count):
        taken = "$foreground" if picks.taken_count else "$dim"
        others = "$foreground" if picks.left_count else "$dim"
        counts.append(
            Content.assemble(
                (f"◉ accepted {picks.taken_count}", taken), "  ", (f"○ skipped {picks.left_count}", others)
            )
        )
    right = Content("   ").join(counts)
    hints = Content("  ").join([Content.assemble((key, "$foreground"), (f" {what}", "$dim")) for key, what in switches])
    for found in (Content("     ").join([right, hints]) if counts else hints, right):
        gap = width - left.cell_length - found.cell_length
        if gap >= 3:
            return Content.assemble(left, " " * gap, found)
    return Content("\n").join([left, right]) if counts else left


def _waiting(text: str, *, is_shown: bool) -> Content:
    return Content.styled(f"▸ {text}", "$foreground") if is_shown else Content.styled(f"  {text}", "$dim")
