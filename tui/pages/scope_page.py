"""Show what the run may change, and what does not count until a person accepts it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.content import Content

from ..text.show_text import one_line
from .text_page import PageDialog

if TYPE_CHECKING:
    from rundry.agent import ViewState


class ScopeScreen(PageDialog):
    """A dialog with the scope of the run. Esc closes it."""

    def __init__(self, state: ViewState) -> None:
        super().__init__()
        self._state = state

    def rows(self) -> Iterator[Content]:
        """Yield the rows of the page."""
        yield Content.styled("Scope", "bold $bright")
        yield Content("")
        for line in self._state.scope:
            yield Content.styled(one_line(line), "$foreground" if line.startswith(" ") else "$bright")
        yield Content("")
        yield Content.styled("/scope GLOB adds files, such as /scope docs/**", "$dim")
