"""Show the MCP servers of the run: their state, their tools, and what these cost in each prompt."""

from __future__ import annotations

from collections.abc import Iterator

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from rundry.agent import McpServerChanged, ViewState, plural, short

from ...keyboard.clicks import press_clicked_key
from ...keyboard.closing import ClosesOnce
from ...keyboard.screen_keymap import keymap_of
from ...text import one_line


class McpScreen(ClosesOnce[None], ModalScreen[None]):
    """A dialog with the servers. Esc closes it."""

    DEFAULT_CSS = """
    McpScreen { align: center middle; background: $background; }
    McpScreen VerticalScroll {
        width: 76; max-width: 96%; height: auto; max-height: 90%; padding: 1 2; background: $surface;
    }
    McpScreen Static { height: auto; }
    """

    def __init__(self, state: ViewState) -> None:
        super().__init__()
        self._state = state

    def compose(self) -> ComposeResult:
        """Yield the lines of each server."""
        with VerticalScroll():
            yield Static(Content("\n").join(self._rows()), markup=False)

    def on_key(self, event: events.Key) -> None:
        """Close the dialog."""
        if keymap_of(self).action_of(event.key, "dialog", "list") in ("close_dialog", "take"):
            event.stop()
            self.dismiss(None)

    def on_click(self, event: events.Click) -> None:
        """Press the clicked key."""
        press_clicked_key(self, event)

    def _rows(self) -> Iterator[Content]:
        yield Content.styled("MCP servers", "bold $bright")
        for server in self._state.mcp.values():
            yield Content("")
            yield from _server(server)
        yield Content("")
        yield keymap_of(self).press("close_dialog", "closes", style="$dim")


def _server(server: McpServerChanged) -> Iterator[Content]:
    is_ready = server.state == "ready"
    cost = f"   {plural(len(server.tools), 'tool')}, {short(server.tokens)} tokens of each prompt" if is_ready else ""
    network = "   network" if server.network else ""
    state = (server.state, "$verdict-good" if is_ready else "bold $verdict-bad")
    yield Content.assemble((one_line(server.name), "$bright"), "   ", state, (f"{cost}{network}", "$foreground"))
    yield Content.styled(f"  {one_line(server.place)}", "$dim")
    if server.detail:
        yield Content.styled(f"  {one_line(server.detail)}", "$foreground" if is_ready else "$verdict-bad")
    if server.tools:
        yield Content.styled(f"  {', '.join(map(one_line, server.tools))}", "$foreground")
    for line in server.refused:
        yield Content.styled(f"  refused {one_line(line)}", "$dim")
