"""The message box with its prompt, and what waits in the queue beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from rundry.agent import ViewState

from ..background import background_lines
from ..text import one_line
from .attachments import Attachments
from .box import MessageBox
from .suggestions import Suggestions


class MessageRow(Vertical):
    """A rule, suggestions, queued messages, and the box."""

    DEFAULT_CSS = """
    MessageRow {
        height: auto; padding: 0;
        & #rule { height: 1; color: $rule; }
        & #background { height: auto; padding: 0 1; color: $dim; display: none; }
        & #queue { height: auto; max-height: 3; padding: 0 1; color: $dim; display: none; }
        & #prompt { width: 3; padding: 0 0 0 1; color: $accent; }
        & #beside { width: auto; padding: 0 1; color: $dim; }
        & Horizontal { height: auto; }
    }
    """

    def __init__(self, files: Callable[[], Sequence[str]], root: Callable[[], Path | None]) -> None:
        super().__init__()
        self.suggestions = Suggestions()
        self._attachments = Attachments()
        self.box = MessageBox(self.suggestions, self._attachments, files, root)
        self._beside = Static("", id="beside", markup=False)
        self._background = Static("", id="background", markup=False)
        self._prompt = Static("›", id="prompt", markup=False)
        self._queue = Static("", id="queue", markup=False)
        self._shown: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        """From above to below."""
        yield Rule(id="rule")
        yield self.suggestions
        yield self._background
        yield self._queue
        yield self._attachments
        with Horizontal():
            yield self._prompt
            yield self.box
            yield self._beside

    def show(self, state: ViewState, placeholder: str, now: float, *, at_rest: bool) -> None:
        """What waits, what runs in the background, and what the box is for at the Unix time `now`.

        `at_rest`: no runner drives it, and what ran beside the last one went with it.
        """
        running = background_lines([] if at_rest else list(state.background.values()), now, self.size.width - 2)
        queue = tuple((m.queued_id, m.text) for m in state.queue)
        is_busy = bool(state.activity) and not at_rest
        wanted = (queue, is_busy, placeholder, state.driving, tuple(running))
        if wanted == self._shown:
            return
        self._shown = wanted
        self.box.placeholder = Content(placeholder)
        self.box.has_queue = bool(state.queue)
        self._prompt.update(Content("$" if state.driving else "›"))
        self._background.update(Content("\n").join(running))
        self._background.display = bool(running)
        queued = [Content(f"queued  {one_line(message.text)}") for message in state.queue[-3:]]
        self._queue.update(Content("\n").join(queued))
        self._queue.display = bool(queued)
        beside = f"{len(state.queue)} queued  ↑ edit" if queued else ""
        if is_busy:
            beside = f"{beside}  ^s steer".strip()
        self._beside.update(Content(beside))


class Rule(Static):
    """A thin line over the whole width."""

    def render(self) -> Content:
        """As wide as it is."""
        return Content("─" * self.size.width)
