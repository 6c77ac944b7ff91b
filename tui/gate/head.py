"""What is proposed, how much of it is taken, and what a person should know before they decide."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from .review import Review
from .thoughts import Shown
from .words import about, name, notes, waiting_list

_ROOMY = 30
"""Rows of a screen from which on the waiting proposals are listed."""


class GateHead(Static):
    """The title line, the list of what waits, a line for each thing to know."""

    DEFAULT_CSS = """
    GateHead { height: auto; padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__("", id="head", markup=False)
        self.rows = 1
        """That it takes, about."""

    def tell(self, review: Review, shown: Shown, *, split_key: bool, width: int) -> None:
        """`width` cells are there."""
        place, count = review.place
        lines = [_title(review, shown, split_key=split_key, width=width)]
        if count > 1 and self.screen.size.height >= _ROOMY:
            waiting = waiting_list(review.waiting, place - 1, width)
            lines.append(Content("   ").join([_waiting(text, is_shown=at) for text, at in waiting]))
        for text, danger in notes(shown.proposal, review.rebasing, review.thoughts):
            lines.append(Content.styled(text, "bold $verdict-bad" if danger else "$dim"))
        self.rows = sum(1 + max(0, line.cell_length - 1) // max(1, width) for line in lines)
        self.update(Content("\n").join(lines))


def _title(review: Review, shown: Shown, *, split_key: bool, width: int) -> Content:
    proposal, picks = shown.proposal, review.thoughts.picks
    place, count = review.place
    left = Content.assemble((name(proposal), "bold $bright"), "   ", (about(proposal), "$dim"))
    counts: list[Content] = []
    if count > 1:
        counts.append(Content.styled(f"{place} of {count} waiting", "$needs-you"))
    if shown.spans and (picks.count > 1 or picks.left_count):
        taken = "$foreground" if picks.taken_count else "$dim"
        others = "$foreground" if picks.left_count else "$dim"
        counts.append(
            Content.assemble((f"◉ taken {picks.taken_count}", taken), "  ", (f"○ left {picks.left_count}", others))
        )
    right = Content("   ").join(counts)
    switches = [("s", "split"), ("f", "full")] if split_key else [("f", "full")]
    hints = Content("  ").join([Content.assemble((key, "$foreground"), (f" {what}", "$dim")) for key, what in switches])
    for found in (Content("     ").join([right, hints]) if counts else hints, right):
        gap = width - left.cell_length - found.cell_length
        if gap >= 3:
            return Content.assemble(left, " " * gap, found)
    return Content("\n").join([left, right]) if counts else left


def _waiting(text: str, *, is_shown: bool) -> Content:
    return Content.styled(f"▸ {text}", "$foreground") if is_shown else Content.styled(f"  {text}", "$dim")
