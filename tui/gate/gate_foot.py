"""The keys that decide, and the gate's notice about the last key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from ..keys.clicks import clickable
from ..keys.screen_keymap import ScreenKeymap, keymap_of
from .proposal_words import shorter

if TYPE_CHECKING:
    from ..keys.action import Place

_BETWEEN = "   "
_NARROW = 56
"""Width below which words are shorter and have smaller gaps."""
_SHOWING = ("] [", "i", "?")
"""Keys that only change what is shown."""


class GateFoot(Static):
    """A notice, the reason that will be sent, and as many keys as fit in one row."""

    DEFAULT_CSS = """
    GateFoot { height: auto; padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__("", id="keys", markup=False)
        self.rows = 1
        """Approximate number of rows that it needs."""
        self.is_read_only = False
        """The view can only show the proposal: keys that decide are left out."""

    def show_keys(
        self,
        keys: Sequence[tuple[str, str]],
        *,
        counts: bool,
        said: str,
        reason: str,
        width: int,
        place: Place = "gate",
    ) -> None:
        """Update the lines. `said`: the notice. `counts`: keys go to the gate now. No keys: nothing was painted yet.

        `place`: the part of the screen to which the keys belong, `line` while a text is typed.
        """
        if self.is_read_only:
            keys, counts = [(key, what) for key, what in keys if key in _SHOWING], True
        above = [*((line, "$verdict-partly") for line in said.split("\n")), (reason, "$foreground")]
        lines = [Content.styled(text, style) for text, style in above if text]
        self.rows = 1 + sum(1 + max(0, line.cell_length - 1) // max(1, width) for line in lines)
        self.update(Content("\n").join([*lines, _line(keys, keymap_of(self), place, counts=counts, width=width)]))


def _to_gate(keymap: ScreenKeymap) -> Content:
    return Content.assemble((keymap.shown("to_gate"), "bold $needs-you"), " to decide")


def _line(keys: Sequence[tuple[str, str]], keymap: ScreenKeymap, place: Place, *, counts: bool, width: int) -> Content:
    """Return as many keys as fit. The last one leads to all of them, so it is shown before any other is dropped."""
    if not keys:
        return Content(" ")
    line = Content("") if counts else clickable(_to_gate(keymap), "to_gate")
    is_narrow = width < _NARROW
    between = _BETWEEN[: 2 if is_narrow else 3]
    style = "bold $needs-you" if counts else "$dim"
    shown = shorter(keys) if is_narrow else keys
    *first, last = [keymap.word(place, key, what, style=style) for key, what in shown]
    for word in first:
        longer = line + Content(between if line.cell_length else "") + word
        if longer.cell_length + len(between) + last.cell_length > width:
            break
        line = longer
    return line + Content(between if line.cell_length else "") + last
