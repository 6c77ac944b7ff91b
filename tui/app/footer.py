"""Show the keys that matter now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget

from rundry.agent import GateMode, LoopKind

from ..control.resume_command import ended_on_limit
from ..keys.clicks import clickable
from ..keys.lookup import BY_NAME, READ_ONLY_ACTIONS, shown_key

if TYPE_CHECKING:
    from ..control.run_controller import RunController

JUDGING = ("confirm", "refute", "merge", "evidence", "open_place")
"""Actions on a finding, during the run and after it."""
_ON_BOARD: Mapping[str, Sequence[str]] = {
    "findings": (*JUDGING, "detail", "only", "find_rows", "item", "lens"),
    "lenses": ("detail", "only", "find_rows", "lens", "item"),
    "queue": ("skip", "item", "detail", "only", "find_rows"),
    "work": ("item",),
}
"""View of the board to its actions."""


READING = ("later", "fold", "copy_entry", "next_match", "find", "to_message", "help")
"""Actions while the transcript has the focus."""


def on_board(controller: RunController, view: str) -> list[str]:
    """Names of actions while keys go to the board."""
    if controller.status.is_over:
        first = [*(JUDGING if view == "findings" else ()), *(() if view == "work" else ("detail", "only", "find_rows"))]
        return [*first, "view", "copy_row", "board", "help", "quit"]
    by_items = controller.state.finder is not None and not controller.state.finder.lenses
    names = [
        name
        for name in _ON_BOARD.get(view, ("detail", "only", "find_rows", "item"))
        if not (by_items and name == "lens")
    ]
    return [*names, "view", "copy_row", "board", "help"]


def matter(controller: RunController, focused: str) -> list[str]:
    """Names of actions for the part that has the focus (see `Areas.focused`), the ones that matter most first."""
    part, _, view = focused.partition(":")
    if part == "transcript":
        return list(READING)
    if part == "board":
        return on_board(controller, view)
    at_gate = part == "gate"
    first = ["gate_back"] if at_gate and view != "typing" else []
    return [*first, *_in_run(controller, at_gate=at_gate)]


def _in_run(controller: RunController, *, at_gate: bool) -> list[str]:
    state = controller.state
    if state.finder is not None:
        return _in_search(controller, at_gate=at_gate)
    if not controller.begun:
        return ["model", "sessions", "help", "palette", "quit"]
    if controller.status.is_gone:
        return ["pause", "help", "limit", "quit", "palette", "find", "unfold"]
    if controller.status.is_over:
        undo = ["undo_last"] if state.outcome is not None and state.outcome.files_changed else []
        is_open = state.outcome is not None and not state.outcome.complete and state.loop is not LoopKind.CHAT
        handed = ["handoff"] if is_open else []
        names = [*_in_family(controller), "help", *handed, *undo, "limit", "quit", "palette", "find", "unfold"]
        return list(dict.fromkeys(["limit", *names])) if ended_on_limit(state) else names
    first = [name for name in _in_family(controller) if not (at_gate and name == "interrupt")]
    if state.handoff is not None:
        first += ["handoff", "wheel"]
    if state.is_user_in_control:
        first.append("wheel")
    if state.proposals and not at_gate:
        first.append("to_gate")
    if state.sleeping is not None or state.awaits:
        first.append("wake")
    if state.activity and not state.proposals and not controller.status.is_at_rest:
        first.append("interrupt")
    if state.paused:
        first += ["pause", "step"]
    if state.improve is not None and state.pass_step is not None and "interrupt" not in first:
        first.append("best")
    return list(dict.fromkeys([*first, "palette", "unfold", "help", "pause", "stop", "quit"]))


def _in_family(controller: RunController) -> list[str]:
    """Return the actions that lead to the parent or to the running child of a run."""
    found = ["interrupt"] if controller.came_from_parent else []
    return [*found, "child"] if controller.state.child_phase else found


def _in_search(controller: RunController, *, at_gate: bool) -> list[str]:
    """Return the actions of a search. Their order stays the same while works begin and end."""
    state = controller.state
    if controller.status.is_over:
        names = ["to_gate", "help", "limit", "quit", "palette", "board"]
        return list(dict.fromkeys(["limit", *names])) if ended_on_limit(state) else names
    first = ["pause", "step"] if state.paused else []
    return list(
        dict.fromkeys([*([] if at_gate else ["to_gate"]), *first, "pause", "board", "limit", "help", "stop", "quit"])
    )


def _mode(controller: RunController) -> str:
    """Return the gate's mode, and the number of rules that hold for this session only."""
    state = controller.state
    mode = state.gate_mode.value
    mode += ", in a stage" if state.in_stage and state.gate_mode is not GateMode.STAGE else ""
    return mode + (f", {len(state.allowed)} allowed" if state.allowed else "")


class Footer(Widget):
    """The gate's mode on the left, then keys; as many as fit."""

    DEFAULT_CSS = """
    Footer { height: 1; padding: 0 1; color: $dim; }
    """

    def __init__(self, keymap: Mapping[str, str]) -> None:
        super().__init__()
        self._keymap = keymap
        self._words: Sequence[tuple[str, str, str]] = ()
        self._notice = ""

    @property
    def has_notice(self) -> bool:
        """Whether a notice is on the screen, also if its time is over."""
        return bool(self._notice)

    def show(self, controller: RunController, focused: str, *, notice: str, is_board: bool = False) -> None:
        """`focused`: see `Areas.focused`. `notice`: what the person should read once, in place of the keys."""
        state = controller.state
        words = [(shown_key(self._keymap.get("gate", BY_NAME["gate"].keys)), _mode(controller), "gate")]
        names = matter(controller, focused)
        if controller.is_read_only:
            words, names = [("", "read-only", "help")], [name for name in names if name in READ_ONLY_ACTIONS]
        for name in names:
            action = BY_NAME[name]
            hint = "resume" if name == "pause" and (state.paused or controller.status.is_gone) else action.hint
            hint = "raise limit" if name == "limit" and controller.status.is_over and ended_on_limit(state) else hint
            hint = "parent run" if name == "interrupt" and controller.came_from_parent else hint
            if (name == "to_gate" and not state.proposals) or (name == "board" and not is_board):
                hint = "board"
            words.append((shown_key(self._keymap.get(name, action.keys)), hint, name))
        if words != self._words or notice != self._notice:
            self._words, self._notice = words, notice
            self.refresh()

    def render(self) -> Content:
        """Return the row of keys."""
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
            word = clickable(Content.assemble(*parts), name)
            start = line.cell_length + (3 if n else 0)
            if start + word.cell_length > self.size.width:
                break
            line = line + Content("   " if n else "") + word
        return line
