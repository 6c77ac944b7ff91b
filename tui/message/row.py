"""The message box with its prompt, and what waits in the queue beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from ..state import ViewState
from ..text import one_line
from .box import MessageBox
from .suggestions import Suggestions


class MessageRow(Vertical):
    """A rule, suggestions, queued messages, and the box."""

    DEFAULT_CSS = """
    MessageRow {
        height: auto; padding: 0;
        & #rule { height: 1; color: $rule; }
        & #queue { height: auto; max-height: 3; padding: 0 1; color: $dim; display: none; }
        & #prompt { width: 3; padding: 0 0 0 1; color: $accent; }
        & #beside { width: auto; padding: 0 1; color: $dim; }
        & Horizontal { height: auto; }
    }
    """

    def __init__(self, files: Callable[[], Sequence[str]]) -> None:
        super().__init__()
        self.suggestions = Suggestions()
        self.box = MessageBox(self.suggestions, files)
        self._beside = Static("", id="beside", markup=False)
        self._queue = Static("", id="queue", markup=False)
        self._shown: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        """From above to below."""
        yield Rule(id="rule")
        yield self.suggestions
        yield self._queue
        with Horizontal():
            yield Static("›", id="prompt", markup=False)
            yield self.box
            yield self._beside

    def show(self, state: ViewState, placeholder: str) -> None:
        """What waits, and what the box is for just now."""
        wanted = (tuple((m.queued_id, m.text) for m in state.queue), bool(state.activity), placeholder)
        if wanted == self._shown:
            return
        self._shown = wanted
        self.box.placeholder = Content(placeholder)
        queued = [Content(f"queued  {one_line(message.text)}") for message in state.queue[-3:]]
        self._queue.update(Content("\n").join(queued))
        self._queue.display = bool(queued)
        beside = f"{len(queued)} queued  ⌥↑ take back" if queued else ""
        if state.activity:
            beside = f"{beside}  ^s steer".strip()
        self._beside.update(Content(beside))


class Rule(Static):
    """A thin line over the whole width."""

    def render(self) -> Content:
        """As wide as it is."""
        return Content("─" * self.size.width)
