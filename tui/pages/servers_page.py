"""Show the MCP servers of the run: their state, their tools, and what these cost in each prompt."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content

from rundry.agent import McpServerChanged, ViewState, plural, short

from ..text.show_text import one_line
from .text_page import PageDialog


class McpScreen(PageDialog):
    """A dialog with the servers. Esc closes it."""

    DEFAULT_CSS = """
    McpScreen VerticalScroll { width: 76; }
    """

    def __init__(self, state: ViewState) -> None:
        super().__init__()
        self._state = state

    def rows(self) -> Iterator[Content]:
        """Yield the rows of the page."""
        yield Content.styled("MCP servers", "bold $bright")
        for server in self._state.mcp.values():
            yield Content("")
            yield from _server(server)


def _server(server: McpServerChanged) -> Iterator[Content]:
    is_ready = server.state == "ready"
    cost = f"   {plural(len(server.tools), 'tool')}, {short(server.tokens)} tokens of each prompt" if is_ready else ""
    network = "   network" if server.network else ""
    token = "$verdict-good" if is_ready else "$foreground" if server.state == "starting" else "bold $verdict-bad"
    state = (server.state, token)
    if server.restarts:
        network += f"   started again {plural(server.restarts, 'time')}"
    yield Content.assemble((one_line(server.name), "$bright"), "   ", state, (f"{cost}{network}", "$foreground"))
    yield Content.styled(f"  {one_line(server.place)}", "$dim")
    if server.detail:
        yield Content.styled(f"  {one_line(server.detail)}", "$foreground" if is_ready else "$verdict-bad")
    if server.login == "stored":
        yield Content.styled("  a login is stored", "$foreground")
    elif server.login == "wanted":
        yield Content.styled(f"  it wants a login: run `rundry mcp login {one_line(server.name)}`", "$verdict-bad")
    if server.tools:
        yield Content.styled(f"  {', '.join(map(one_line, server.tools))}", "$foreground")
    for line in server.refused:
        yield Content.styled(f"  refused {one_line(line)}", "$dim")
    if server.instructions:
        yield Content.styled("  its instructions for the model:", "$dim")
    for line in server.instructions.splitlines():
        yield Content.styled(f"    {one_line(line)}", "$foreground")
