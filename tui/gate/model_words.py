"""The model's last lines, above a proposal that takes the whole height: why it wants what waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.widgets import Static

from ..text.show_text import one_line
from ..text.wrap_lines import wrapped
from .proposal_head import ROOMY

if TYPE_CHECKING:
    from rundry.agent import ProposalOpened, ViewState

_ROWS = 3
_MARGIN = 6
"""Cells before the text, as in the transcript."""
_LOOKED_AT = 40
"""Entries before the proposal among which the model's text is."""
_NO_WORDS = ("```", "|")
"""Starts of lines that only mark something up, and of rows of tables."""
_OTHERS = ("task", "say", "steer", "check", "outcome")
"""Kinds of entries that what the model said before them does not explain."""


class ModelWords(Static):
    """The end of what the model said before the proposal. Hidden while the transcript is visible."""

    DEFAULT_CSS = """
    ModelWords { height: auto; margin: 1 0 0 0; padding: 0 1 0 0; display: none; }
    """

    def __init__(self) -> None:
        super().__init__("", id="words", markup=False)
        self._shown: tuple[object, ...] = ()

    def show(self, state: ViewState, proposal: ProposalOpened | None) -> None:
        """Show the lines before this proposal, or hide them without one."""
        text = "" if proposal is None else words_before(state, proposal)
        size = self.screen.size
        if (text, size) == self._shown:
            return
        self._shown = (text, size)
        rows = last_rows(text, size.width - _MARGIN - 1, _ROWS if size.height >= ROOMY else 1)
        self.update(Content("\n").join(Content(" " * _MARGIN + row) for row in rows))
        self.display = bool(rows)


def words_before(state: ViewState, proposal: ProposalOpened) -> str:
    """Return the newest text of the model before a proposal, or empty if it said nothing since it was asked."""
    at = state.at_proposal.get(proposal.proposal_id)
    if at is None:
        return ""
    work = state.blocks[at].work
    for index in range(at - 1, max(-1, at - _LOOKED_AT, state.blocks.first - 1), -1):
        block = state.blocks[index]
        if block.kind in _OTHERS:
            return ""
        if block.kind == "text" and block.work == work and block.text.strip():
            return block.text
    return ""


def last_rows(text: str, width: int, limit: int) -> list[str]:
    """Return at most `limit` rows: as many whole lines from the end as fit, of a longer last line its start."""
    lines = [one_line(line).strip().lstrip("#").replace("**", "").lstrip() for line in text.split("\n")]
    rows = list[str]()
    for line in reversed([line for line in lines if line and not line.startswith(_NO_WORDS)]):
        broken = [piece for row in wrapped(line, width) for piece in _folded(row, width)]
        if len(rows) + len(broken) > limit:
            return rows or [*broken[: limit - 1], _ended(broken[limit - 1], width)]
        rows = broken + rows
    return rows


def _folded(row: str, width: int) -> list[str]:
    """Return a row, or the pieces of a word that is wider than the row."""
    pieces = list[str]()
    while cell_len(row) > width:
        piece = set_cell_size(row, width).rstrip()
        pieces.append(piece)
        row = row[len(piece) :].lstrip()
    return [*pieces, row]


def _ended(row: str, width: int) -> str:
    return f"{set_cell_size(row, width - 1).rstrip() if cell_len(row) >= width else row}…"
