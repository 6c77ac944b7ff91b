"""Show a command at the gate: the whole line, wrapped and never cut."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static


class CommandPane(VerticalScroll, can_focus=False):
    """The command line, which scrolls if it is longer than the pane."""

    DEFAULT_CSS = """
    CommandPane { height: auto; padding: 0 1; & Static { width: 1fr; color: $bright; } }
    """

    def __init__(self) -> None:
        super().__init__()
        self._line = Static("", markup=False)

    def compose(self) -> ComposeResult:
        """Yield the widget with the command line."""
        yield self._line

    @property
    def rows(self) -> int:
        """Return how many rows the whole line needs, whatever the height of the pane is."""
        return self._line.size.height

    def show(self, command: str) -> None:
        """Show a command that has passed through `tui.text`."""
        self._line.update(Content(command))
        self.scroll_home(animate=False)
