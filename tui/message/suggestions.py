"""The suggestions above the box."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from ..text.show_text import one_line

if TYPE_CHECKING:
    from .completion import Completion, Suggestion


class Suggestions(Widget):
    """The list of suggestions, one of them selected. It never has the focus: the box drives it."""

    DEFAULT_CSS = """
    Suggestions { height: auto; padding: 0 1; display: none; }
    """

    class Clicked(Message):
        """The person clicked on a suggestion, which is selected now."""

    completion: Completion | None = None
    _chosen = 0

    def show(self, completion: Completion | None) -> None:
        """Show these suggestions, or hide the list for None."""
        if completion == self.completion:
            return
        self.completion, self._chosen = completion, 0
        self.display = completion is not None
        self.refresh(layout=True)

    def move(self, by: int) -> None:
        """Select another row, `by` rows below the present one."""
        if self.completion is not None:
            self._chosen = (self._chosen + by) % len(self.completion.rows)
            self.refresh()

    @property
    def chosen(self) -> Suggestion | None:
        """The suggestion in the selected row."""
        return self.completion.rows[self._chosen] if self.completion is not None else None

    def on_click(self, event: events.Click) -> None:
        """Insert the clicked suggestion."""
        event.stop()
        row = event.y - bool(self.completion.title) if self.completion is not None else -1
        if self.completion is not None and 0 <= row < len(self.completion.rows):
            self._chosen = row
            self.refresh()
            self.post_message(self.Clicked())

    def render(self) -> Content:
        """Return the list with one row for each suggestion."""
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
        title = self.completion.title if self.completion is not None else ""
        return Content("\n").join([Content.styled(title, "$dim"), *lines] if title else lines)
