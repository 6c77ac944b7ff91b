"""A command at the gate: the whole line, wrapped and never cut."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static


class CommandPane(VerticalScroll, can_focus=False):
    """Scrolls where the command is longer than the room."""

    DEFAULT_CSS = """
    CommandPane { height: auto; padding: 0 1; & Static { width: 1fr; color: $bright; } }
    """

    def __init__(self) -> None:
        super().__init__()
        self._line = Static("", markup=False)

    def compose(self) -> ComposeResult:
        """One text."""
        yield self._line

    @property
    def rows(self) -> int:
        """That the whole line takes, whatever room it has."""
        return self._line.size.height

    def show(self, command: str) -> None:
        """`command` went through the border for foreign text."""
        self._line.update(Content(command))
        self.scroll_home(animate=False)
