"""The message box with its prompt, and above it the plan, the queued messages and the background commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from rundry.agent import SHOW_WAIT_SECONDS, Background, ViewState, clock, waiting_for

from ..keys.clicks import clickable
from ..keys.screen_keymap import keymap_of
from ..text.shorten_cells import cells_cut, cells_fit
from ..text.show_text import one_line
from .attached_line import Attachments
from .message_box import MessageBox
from .plan_rows import PlanRows
from .suggestions import Suggestions

if TYPE_CHECKING:
    from ..control.run_controller import RunController

_LEAST = 20
"""Width that the rule needs to show words."""
_MOST = 3
"""Number of lines that show background commands."""
_NAME = 14
"""Width of the name of a background command; a longer one is shortened."""


class MessageRow(Vertical):
    """The plan, a rule, suggestions, queued messages, and the box."""

    DEFAULT_CSS = """
    MessageRow {
        height: auto; padding: 0;
        & #rule { height: 1; color: $rule; }
        & #background { height: auto; padding: 0 1; color: $dim; display: none; }
        & #queue { height: auto; max-height: 3; padding: 0 1; color: $dim; display: none; }
        & #prompt { width: 3; padding: 0 0 0 1; color: $accent; }
        & #queued { width: auto; padding: 0 1; color: $dim; }
        & Horizontal { height: auto; }
    }
    """

    def __init__(self, controller: RunController, keys: Mapping[str, str]) -> None:
        """`keys`: key of the box to its action's name."""
        super().__init__()
        self.suggestions = Suggestions()
        self._attachments = Attachments()
        self.box = MessageBox(self.suggestions, self._attachments, controller, keys)
        self._queued = Static("", id="queued", markup=False)
        self._background = Static("", id="background", markup=False)
        self._prompt = Static("›", id="prompt", markup=False)
        self._queue = Static("", id="queue", markup=False)
        self._rule = Rule(id="rule")
        self._plan = PlanRows()
        self._shown: tuple[object, ...] = ()
        self._acts = not controller.is_read_only

    def compose(self) -> ComposeResult:
        """Yield the plan, the rule, suggestions, background commands, queue, attachments and box."""
        yield self._plan
        yield self._rule
        yield self.suggestions
        yield self._background
        yield self._queue
        yield self._attachments
        with Horizontal():
            yield self._prompt
            yield self.box
            yield self._queued

    def on_suggestions_clicked(self) -> None:
        """Insert the clicked suggestion into the box."""
        self.box.insert_chosen()
        self.box.focus()

    def show(self, state: ViewState, placeholder: str, now: float, *, at_rest: bool, offers_choices: bool) -> None:
        """Show what waits, what runs in the background, and what the box is for at the Unix time `now`.

        `offers_choices`: keys of the empty box move the mark of the first screen. `at_rest`: no runner drives the run,
        and background commands ended with the last one.
        """
        self._plan.show(state)
        self._rule.show("" if at_rest else _wait_words(state, now, self.size.width - 6))
        running = _background_lines([] if at_rest else list(state.background.values()), now, self.size.width - 2)
        queue = tuple((m.queued_id, m.text) for m in state.queue)
        is_busy = bool(state.activity) and not at_rest
        self.box.offers_choices = offers_choices
        wanted = (queue, is_busy, placeholder, state.is_user_in_control, tuple(running))
        if wanted == self._shown:
            return
        self._shown = wanted
        self.box.placeholder = Content(placeholder)
        self.box.has_queue = bool(state.queue) and self._acts
        self._prompt.update(Content("$" if state.is_user_in_control else "›"))
        self._background.update(Content("\n").join(running))
        self._background.display = bool(running)
        waiting = [Content(f"queued  {one_line(message.text)}") for message in state.queue[-3:]]
        queued = [clickable(words, "queue") if self._acts else words for words in waiting]
        self._queue.update(Content("\n").join(queued))
        self._queue.display = bool(queued)
        words = [clickable(Content(f"{len(state.queue)} queued  ↑ edit"), "queue")] if queued and self._acts else []
        if is_busy and self._acts:
            words.append(clickable(Content(f"{keymap_of(self).shown('steer')} steer"), "steer"))
        self._queued.update(Content("  ").join(words))


def _wait_words(state: ViewState, now: float, width: int) -> str:
    """Return what the run waits for, for how long, and what it printed last, once that takes a while.

    What the model awaits has a line of its own below the header.

    `width`: the available cells. A lock is shown immediately: it was waited for before.
    """
    wait = None if state.awaits else waiting_for(state)
    patience = 0.0 if wait is not None and wait.is_lock else SHOW_WAIT_SECONDS
    return "" if wait is None or now - wait.since < patience else one_line(wait.words(now, width))


class Rule(Static):
    """A thin line over the whole width, with a few words in it."""

    _words = ""

    def show(self, words: str) -> None:
        """Show these words in the line; no words: only the line."""
        if words != self._words:
            self._words = words
            self.refresh()

    def render(self) -> Content:
        """Return the line, as wide as the widget."""
        width = self.size.width
        if not self._words or width < _LEAST:
            return Content("─" * width)
        words = Content(f" {self._words} ").truncate(width - 4, ellipsis=True)
        return Content.assemble("──", words.stylize("$dim"), "─" * (width - 2 - words.cell_length))


def _background_lines(running: Sequence[Background], now: float, width: int) -> list[Content]:
    """Return name, duration and last output of each background command, oldest first. `width`: cells."""
    shown = running if len(running) <= _MOST else running[: _MOST - 1]
    lines = [_background_line(job, now, width) for job in shown]
    if len(shown) < len(running):
        rest = running[len(shown) :]
        lines.append(Content(cells_cut(f"and {len(rest)} more: {', '.join(j.name for j in rest)}", width)))
    return lines


def _background_line(job: Background, now: float, width: int) -> Content:
    since = clock(now - job.since)
    end = f"/stop {job.name}"
    room = width - 2 - _NAME - 2 - 7 - 2 - len(end) - 2
    said = cells_fit(one_line(job.line or job.command), room)
    return Content.assemble(
        ("▸ ", "$accent"),
        (cells_fit(job.name, _NAME), "$foreground"),
        f"  {since:>7}  ",
        said,
        "  ",
        (end, "$faint"),
    )
