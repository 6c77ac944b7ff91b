"""Show the keys that matter now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from rundry.agent import LoopKind

from ..actions import BY_NAME, shown_key
from ..run_controller import RunController
from ..setup.resuming import ended_on_limit

_ON_BOARD: Mapping[str, Sequence[str]] = {
    "findings": ("detail", "confirm", "refute", "evidence", "merge", "only", "item", "lens"),
    "lenses": ("detail", "lens", "item"),
    "queue": ("skip", "item", "detail"),
}
"""View of the board to what can be done there."""


def on_board(controller: RunController, view: str) -> list[str]:
    """Names of actions while keys go to the board."""
    if controller.status.is_over:
        return ["detail", "view", *(["only"] if view == "findings" else []), "copy_row", "board", "help", "quit"]
    by_items = controller.state.finder is not None and not controller.state.finder.lenses
    names = [name for name in _ON_BOARD.get(view, ("detail", "item")) if not (by_items and name == "lens")]
    return [*names, "view", "copy_row", "board", "help"]


def matter(controller: RunController, *, at_gate: bool) -> list[str]:
    """Names of actions, the ones that matter most first."""
    state = controller.state
    if state.finder is not None:
        return _in_search(controller, at_gate=at_gate)
    if not controller.begun:
        return ["help", "palette", "model", "quit"]
    if controller.status.is_gone:
        return ["pause", "help", "limit", "quit", "palette", "find", "unfold"]
    if controller.status.is_over:
        undo = ["undo_last"] if state.outcome is not None and state.outcome.files_changed else []
        is_open = state.outcome is not None and not state.outcome.complete and state.loop is not LoopKind.CHAT
        handed = ["handoff"] if is_open else []
        names = ["help", *handed, *undo, "limit", "quit", "palette", "find", "unfold"]
        return list(dict.fromkeys(["limit", *names])) if ended_on_limit(state) else names
    first: list[str] = ["handoff", "wheel"] if state.handoff is not None else []
    if state.driving:
        first.append("wheel")
    if state.proposals and not at_gate:
        first.append("to_gate")
    if state.sleeping is not None:
        first.append("wake")
    if state.activity and not controller.status.is_at_rest:
        first.append("interrupt")
    if state.paused:
        first += ["pause", "step"]
    if state.improve is not None and state.pass_step is not None and "interrupt" not in first:
        first.append("best")
    return list(dict.fromkeys([*first, "palette", "unfold", "help", "pause", "stop", "quit"]))


def _in_search(controller: RunController, *, at_gate: bool) -> list[str]:
    """Of a search, whose keys stay where they are while works come and go."""
    state = controller.state
    if controller.status.is_over:
        names = ["to_gate", "help", "limit", "quit", "palette", "board"]
        return list(dict.fromkeys(["limit", *names])) if ended_on_limit(state) else names
    first = ["pause", "step"] if state.paused else []
    return list(
        dict.fromkeys([*([] if at_gate else ["to_gate"]), *first, "pause", "board", "limit", "help", "stop", "quit"])
    )


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

    def show(
        self, controller: RunController, *, at_gate: bool, notice: str, view: str = "", is_board: bool = False
    ) -> None:
        """`notice`: what a person should read once, in place of the keys; `view` of the board that has the focus."""
        state = controller.state
        words = [(shown_key(self._keymap.get("gate", BY_NAME["gate"].keys)), state.gate_mode.value, "gate")]
        for name in on_board(controller, view) if view else matter(controller, at_gate=at_gate):
            action = BY_NAME[name]
            hint = "resume" if name == "pause" and (state.paused or controller.status.is_gone) else action.hint
            hint = "raise limit" if name == "limit" and controller.status.is_over and ended_on_limit(state) else hint
            if (name == "to_gate" and not state.proposals) or (name == "board" and not is_board):
                hint = "board"
            words.append((shown_key(self._keymap.get(name, action.keys)), hint, name))
        if words != self._words or notice != self._notice:
            self._words, self._notice = words, notice
            self.refresh()

    def render(self) -> Content:
        """Return the row of keys."""
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
        """Run the action of the clicked word."""
        x = event.x - self.styles.padding.left
        for start, end, name in self._places:
            if start <= x < end:
                self.post_message(self.Picked(name))
