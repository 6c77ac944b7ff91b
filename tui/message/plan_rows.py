"""The steps of the model's plan that are not done, above the message box."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from rundry.agent import PlanStep, plan_steps, plan_summary

from ..text.shorten_cells import cells_cut, cells_fit
from ..text.show_text import one_line

if TYPE_CHECKING:
    from rundry.agent import ViewState

ROOMY = 30
"""Height of the screen from which there is more than one row."""
_ROWS = 4
_SIGNS = {"doing": ("▸", "$accent", "$bright"), "open": ("○", "$faint", "$foreground")}
"""The symbol of a state, and the styles of the symbol and of the text."""
_MARGIN = 6
"""Cells before the text, as in the transcript."""
_GAP = 3


class PlanRows(Static):
    """What the model is at and what is left, with how much is done. Hidden without a plan, and once all is done."""

    DEFAULT_CSS = """
    PlanRows { height: auto; padding: 0 1 0 0; color: $dim; display: none; }
    PlanRows.-airy { margin: 1 0 0 0; }
    """

    def __init__(self) -> None:
        super().__init__("", id="plan", markup=False)
        self._shown: tuple[object, ...] = ()

    def show(self, state: ViewState) -> None:
        """Show the plan of a run that has not ended. A search has no rows: each of its models has a plan of its own."""
        steps = [] if state.outcome is not None or state.finder is not None else plan_steps(state.plan)
        width, height = self.screen.size.width - 1, self.screen.size.height
        wanted = (tuple(steps), width, height)
        if wanted == self._shown:
            return
        self._shown = wanted
        rows = arrange_plan(steps, width, _ROWS if height >= ROOMY else 1)
        self.update(Content("\n").join(rows))
        self.set_class(height >= ROOMY, "-airy")
        self.display = bool(rows)


def arrange_plan(steps: Sequence[PlanStep], width: int, limit: int) -> list[Content]:
    """Return at most `limit` rows of `width` cells: the steps that are not done, those in work first."""
    left = sorted((step for step in steps if step.state != "done"), key=lambda step: step.state != "doing")
    facts = f"plan  {plan_summary(steps)}"
    rows = list[Content]()
    for step in left[:limit]:
        sign, sign_style, style = _SIGNS[step.state]
        room = width - _MARGIN - (0 if rows else cell_len(facts) + _GAP)
        text = one_line(step.text)
        shown = cells_cut(text, room) if rows else cells_fit(text, room) + " " * _GAP
        row = Content.assemble("   ", (sign, sign_style), "  ", (shown, style))
        rows.append(row if rows else row + Content.styled(facts, "$dim"))
    return rows
