"""The keys that decide, and what the gate has to say about the last one."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

_BETWEEN = "   "


class GateFoot(Static):
    """A line for the person, the reason that goes along, and the keys: as many as fit in one row."""

    DEFAULT_CSS = """
    GateFoot { height: auto; padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__("", id="keys", markup=False)
        self.rows = 1
        """That it takes, about."""

    def tell(self, keys: Sequence[tuple[str, str]], *, counts: bool, said: str, reason: str, width: int) -> None:
        """`counts`: keys are for the gate just now. No keys: nothing was painted yet that they could decide on."""
        above = [(said, "$verdict-partly"), (reason, "$foreground")]
        lines = [Content.styled(text, style) for text, style in above if text]
        self.rows = 1 + sum(1 + max(0, line.cell_length - 1) // max(1, width) for line in lines)
        self.update(Content("\n").join([*lines, _line(keys, counts=counts, width=width)]))


def _line(keys: Sequence[tuple[str, str]], *, counts: bool, width: int) -> Content:
    if not keys:
        return Content(" ")
    line = Content("") if counts else Content.assemble(("F2", "bold $needs-you"), " to decide")
    for key, what in keys:
        word = (
            Content.assemble((key, "bold $needs-you"), " ", (what, "$foreground"))
            if counts
            else Content.styled(f"{key} {what}", "$dim")
        )
        before = Content(_BETWEEN) if line.cell_length else Content("")
        if line.cell_length + before.cell_length + word.cell_length > width:
            break
        line = line + before + word
    return line
