"""Handle actions that control a run."""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rundry.agent import (
    EFFORTS,
    GateMode,
    Interrupt,
    RundryError,
    Unpause,
    Unqueue,
    held_words,
)

from ...control.init_message import init_message
from ...control.resume_command import raised
from ...control.review_words import IN_STAGE
from ...control.typed_commands import effort_named, format_named, gate_mode_named, limit_of, typed_command
from ...text.show_text import one_line

if TYPE_CHECKING:
    from ...control.run_controller import RunController
    from ...control.services import Host
    from ...keys.keymap import Keymap
    from ..message_and_notice import Prompt
    from .choice_handlers import ChoiceHandlers
    from .conversation_handlers import ConversationHandlers
    from .stage_handlers import StageHandlers

ONCE_MORE = "nothing is running; press {interrupt} again to rewind"
CLEAR = "press {interrupt} again to clear the message"
CYCLE = (GateMode.ASK, GateMode.EFFECTS, GateMode.EDITS, GateMode.AUTO, GateMode.READ)
UNSANDBOXED = "there is no sandbox: enter /gate auto again to allow commands unsandboxed"


def _next(mode: GateMode) -> GateMode:
    """Return the mode that follows."""
    return CYCLE[(CYCLE.index(mode) + 1) % len(CYCLE)] if mode in CYCLE else CYCLE[0]


class RunHandlers(ABC):
    """Handlers that send a command to the run."""

    def __init__(
        self, controller: RunController, prompt: Prompt, keymap: Keymap, stage: StageHandlers | None = None
    ) -> None:
        """`stage`: None where nobody can look at what is staged."""
        self._controller, self._prompt, self._stage = controller, prompt, stage
        self._once_more, self._clear = keymap.named(ONCE_MORE), keymap.named(CLEAR)

    def table(self) -> Mapping[str, Callable[[str], None]]:
        """Return the handlers by the action's name."""
        return {
            "interrupt": self.interrupt,
            "gate": self._gate,
            "deny": self._deny,
            "pause": self._pause,
            "resume": self._resume,
            "step": self._step,
            "limit": self._limit,
            "effort": self._effort,
            "format": self._format,
            "stop": self._stop,
            "wake": self._wake,
            "queue": self._queue,
            "until": self._until,
            "scope": self._scope,
            "init": self._init,
            "plan": self._plan,
        }

    @abstractmethod
    def rewind(self) -> None:
        """Let the person choose where to rewind to. Raises RundryError."""

    @abstractmethod
    def open_view(self, what: str) -> None:
        """Close this view and open another one, as `ViewResult.next` names it."""

    @abstractmethod
    def continue_newest(self) -> None:
        """Resume the newest unfinished run of this folder. Raises RundryError."""

    def interrupt(self, _argument: str) -> None:
        """Interrupt what runs; else clear the message, or rewind when it is asked for twice. Raises RundryError."""
        state = self._controller.state
        if state.activity or state.proposals or state.at_shell:
            self._controller.put(Interrupt())
        elif self._prompt.text:
            self._clear_message()
        elif self._prompt.shows(self._once_more):
            self._prompt.tell("")
            self.rewind()
        else:
            self._prompt.tell(self._once_more if self._controller.begun else "nothing is running")

    def _clear_message(self) -> None:
        if self._prompt.shows(self._clear):
            self._prompt.clear()
            self._prompt.tell("cleared: ↑ brings it back")
        else:
            self._prompt.tell(self._clear)

    def _gate(self, argument: str) -> None:
        state = self._controller.state
        mode = gate_mode_named(argument) if argument else _next(state.gate_mode)
        if state.in_stage or (mode is GateMode.STAGE and self._stage is not None):
            self._change_stage(mode if argument else None)
            return
        if not self._controller.begun:
            self._controller.set_gate(mode)
            return
        unheld = mode is GateMode.AUTO and state.sandbox is None
        if unheld and argument and self._prompt.shows(UNSANDBOXED):
            self._controller.set_gate(mode, unsandboxed_ok=True, settle=True)
        elif unheld and argument:
            self._prompt.tell(UNSANDBOXED)
        elif unheld:
            self._controller.set_gate(GateMode.READ)
            self._prompt.tell("auto was skipped: there is no sandbox. Use /gate auto to set it")
        else:
            self._controller.set_gate(mode, settle=bool(argument))

    def _change_stage(self, mode: GateMode | None) -> None:
        """Enter a stage, or leave it for another mode. A key that cycles the modes (None) does not leave the stage."""
        if self._stage is None:
            raise RundryError(f"the run works in a stage: rundry apply {self._controller.state.run_id} decides on it")
        if mode is GateMode.STAGE:
            self._stage.enter()
        elif mode is None:
            self._prompt.tell(IN_STAGE)
        else:
            self._stage.leave(mode)

    def _deny(self, argument: str) -> None:
        if argument:
            self._controller.put(typed_command("deny", argument))
        else:
            self._prompt.fill("/deny path:")

    def _pause(self, argument: str) -> None:
        if not self._controller.begun:
            self.continue_newest()
        elif self._controller.status.is_gone:
            self._controller.continue_run("")
        elif self._controller.state.paused:
            self._controller.put(Unpause())
        else:
            self._controller.put(typed_command("pause", argument))

    def _resume(self, argument: str) -> None:
        self._controller.continue_run(argument)

    def _step(self, argument: str) -> None:
        self._controller.put(typed_command("step", argument))

    def _limit(self, argument: str) -> None:
        name, _, value = argument.replace("=", " ", 1).partition(" ")
        if not value:
            state = self._controller.state
            ended, budget = state.outcome, state.budget
            wanted = None if name or ended is None or budget is None else raised(ended, budget)
            self._prompt.fill("/limit " + (" ".join(wanted) if wanted is not None else f"{name} " if name else ""))
            example = "type its value" if name else "type a limit: steps 60, tokens 300k, usd 1, time 20m"
            held = held_words(state.common.ledger.limited.held)
            self._prompt.tell(held or example)
            return
        limit = limit_of(argument)
        self._controller.set_limit(limit.name, limit.value)

    def _until(self, argument: str) -> None:
        controller = self._controller
        if argument:
            controller.set_check(None if argument == "none" else _unquoted(argument))
        goals = controller.state.goals
        if not goals:
            how = "" if controller.begun else "; /until CMD sets the one that decides when the next task is done"
            self._prompt.tell(f"no check is set{how}")
            return
        goal = one_line(" and ".join(goals))
        if controller.begun:
            self._prompt.tell(f"the run is done when {goal} passes")
        else:
            self._prompt.tell(f"/until none removes the check; the next task is done when this passes: {goal}")

    def _init(self, _argument: str) -> None:
        """Ask the model for an AGENTS.md, which waits at the gate."""
        controller = self._controller
        if not controller.begun and (controller.start is None or controller.start.model is None):
            raise RundryError("there is no model yet: set one with /model, then /init")
        controller.send_message(init_message(controller.root), "")

    def _scope(self, argument: str) -> None:
        show_scope(self._controller, self._prompt, argument)

    def _plan(self, argument: str) -> None:
        if not argument:
            self._prompt.fill("/plan ")
            self._prompt.tell("type the task behind /plan")
        elif following := self._controller.begin_planning(argument):
            self.open_view(following)

    def _effort(self, argument: str) -> None:
        if not argument:
            self._prompt.fill("/effort ")
            self._prompt.tell(f"type one behind /effort: {', '.join(EFFORTS)}")
            return
        self._controller.switch_model(self._controller.reader.with_effort(effort_named(argument)), asks=False)

    def _format(self, argument: str) -> None:
        controller = self._controller
        form = format_named(argument) if argument else None
        if form is not None:
            controller.set_edit_format(form)
        if form is None or not controller.begun:
            state = controller.state
            self._prompt.tell(f"edit format: {state.edit_format}; {one_line(state.edit_format_why)}")

    def _stop(self, argument: str) -> None:
        if argument not in ("", "now", *self._controller.state.background):
            raise RundryError(f"/stop {argument}: use /stop, /stop now, or /stop NAME for a background command")
        self._controller.put(typed_command("stop", argument))

    def _wake(self, argument: str) -> None:
        self._controller.put(typed_command("wake", argument))

    def _queue(self, _argument: str) -> None:
        queue = self._controller.state.queue
        if not queue:
            self._prompt.tell("nothing is queued")
            return
        self._controller.put(Unqueue(queued_id=queue[-1].queued_id))
        draft = self._prompt.text
        self._prompt.fill(queue[-1].text + (f"\n{draft}" if draft.strip() else ""))


class ScreenRunHandlers(RunHandlers):
    """Those of the main screen, where lists are dialogs."""

    def __init__(
        self,
        controller: RunController,
        prompt: Prompt,
        keymap: Keymap,
        stage: StageHandlers,
        conversation: ConversationHandlers,
        choices: ChoiceHandlers,
        host: Host,
    ) -> None:
        super().__init__(controller, prompt, keymap, stage)
        self._conversation, self._choices, self._host = conversation, choices, host

    def rewind(self) -> None:
        """Open the list of messages and steps. Raises RundryError."""
        self._conversation.rewind("")

    def open_view(self, what: str) -> None:
        """Close the screen and open another one."""
        self._host.leave_for(what)

    def continue_newest(self) -> None:
        """Resume the newest unfinished run of this folder. Raises RundryError if there is none."""
        self._choices.continue_newest()


def show_scope(controller: RunController, prompt: Prompt, argument: str) -> None:
    """Add the globs of an argument to what the run may change; without one, show it in lines. Raises RundryError."""
    if argument:
        controller.add_scope(argument.split())
        return
    lines = controller.state.scope
    if not lines:
        why = "no check decides, so there is no scope" if controller.begun else "there is no run yet"
        prompt.tell(why)
    for line in lines:
        prompt.tell(one_line(line))


def _unquoted(argument: str) -> str:
    """Return the command without the quotes that it would need as the value of an option."""
    try:
        words = shlex.split(argument)
    except ValueError:  # the quotes belong to the command
        return argument
    return words[0] if len(words) == 1 and argument[0] in "'\"" else argument
