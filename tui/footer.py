"""The keys that matter now."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from .actions import BY_NAME, shown_key
from .desk import Desk


def matter(desk: Desk, *, at_gate: bool) -> list[str]:
    """Names of actions, the ones that matter most first."""
    state = desk.state
    if not desk.begun:
        return ["help", "palette", "model", "quit"]
    if desk.is_over:
        undo = ["undo_last"] if state.outcome is not None and state.outcome.files_changed else []
        return ["help", *undo, "limit", "quit", "palette", "find", "unfold"]
    first: list[str] = []
    if state.proposals and not at_gate:
        first.append("to_gate")
    if state.sleeping is not None:
        first.append("wake")
    if state.activity:
        first.append("interrupt")
    if state.paused:
        first += ["pause", "step"]
    return list(dict.fromkeys([*first, "palette", "unfold", "help", "pause", "stop", "quit"]))


class Footer(Widget):
    """The gate's mode on the left, then keys; as many as fit."""

    DEFAULT_CSS = """
    Footer { height: 1; padding: 0 1; color: $dim; }
    """

    class Picked(Message):
        """The person clicked on an action's word."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, keymap: dict[str, str]) -> None:
        super().__init__()
        self._keymap = keymap
        self._words: Sequence[tuple[str, str, str]] = ()
        self._notice = ""
        self._places: list[tuple[int, int, str]] = []

    def show(self, desk: Desk, *, at_gate: bool, notice: str) -> None:
        """`notice`: what a person should read once, in place of the keys."""
        state = desk.state
        words = [(shown_key(self._keymap.get("gate", BY_NAME["gate"].keys)), state.gate_mode.value, "gate")]
        for name in matter(desk, at_gate=at_gate):
            action = BY_NAME[name]
            hint = "go on" if name == "pause" and state.paused else action.hint
            words.append((shown_key(self._keymap.get(name, action.keys)), hint, name))
        if words != self._words or notice != self._notice:
            self._words, self._notice = words, notice
            self.refresh()

    def render(self) -> Content:
        """One row."""
        self._places.clear()
        if self._notice:
            return Content.styled(self._notice, "$verdict-partly")
        line = Content("")
        for n, (key, hint, name) in enumerate(self._words):
            # the mode is a word of its own: it comes before its key
            parts = (
                [(hint, "bold $foreground"), (f" {key}", "$dim")]
                if n == 0
                else [(key, "$foreground"), (f" {hint}", "$dim")]
            )
            word = Content.assemble(*parts)
            start = line.cell_length + (3 if n else 0)
            if start + word.cell_length > self.size.width:
                break
            self._places.append((start, start + word.cell_length, name))
            line = line + Content("   " if n else "") + word
        return line

    def on_click(self, event: events.Click) -> None:
        """A word is also a button."""
        x = event.x - self.styles.padding.left
        for start, end, name in self._places:
            if start <= x < end:
                self.post_message(self.Picked(name))
