"""The suggestions above the box."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from ..text import one_line
from .completion import Completion, Suggestion


class Suggestions(Widget):
    """A few rows, one of them marked. It never has the focus: the box drives it."""

    DEFAULT_CSS = """
    Suggestions { height: auto; padding: 0 1; display: none; }
    """

    completion: Completion | None = None
    _chosen = 0

    def show(self, completion: Completion | None) -> None:
        """New suggestions, or none."""
        if completion == self.completion:
            return
        self.completion, self._chosen = completion, 0
        self.display = completion is not None
        self.refresh(layout=True)

    def move(self, by: int) -> None:
        """Mark another row."""
        if self.completion is not None:
            self._chosen = (self._chosen + by) % len(self.completion.rows)
            self.refresh()

    @property
    def chosen(self) -> Suggestion | None:
        """The marked row."""
        return self.completion.rows[self._chosen] if self.completion is not None else None

    def render(self) -> Content:
        """A row each."""
        rows = self.completion.rows if self.completion is not None else ()
        width = max((len(row.label) for row in rows), default=0) + 2
        lines = [
            Content.assemble(
                ("› " if n == self._chosen else "  ", "$needs-you"),
                (one_line(row.label).ljust(width), "bold" if n == self._chosen else ""),
                (one_line(row.about), "$dim"),
            )
            for n, row in enumerate(rows)
        ]
        return Content("\n").join(lines)
