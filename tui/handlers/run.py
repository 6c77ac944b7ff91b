"""Handle actions that control a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rundry.agent import (
    EFFORTS,
    AddRule,
    Clear,
    GateMode,
    Interrupt,
    LoopKind,
    Pause,
    RundryError,
    StepOnce,
    Stop,
    StopCommand,
    Undo,
    Unpause,
    Unqueue,
    Wake,
)

from ..deciding.rule import parse_deny
from ..setup.limits import parse_limit
from ..setup.resuming import raised

if TYPE_CHECKING:
    from ..screens.main import MainScreen

ONCE_MORE = "nothing is running; press esc again to rewind"
CYCLE = (GateMode.ASK, GateMode.EDITS, GateMode.AUTO, GateMode.READ)
UNSANDBOXED = "there is no sandbox: enter /gate auto again to allow commands unsandboxed"


def _interrupt(screen: MainScreen, argument: str) -> None:
    del argument
    state = screen.controller.state
    if state.activity or state.proposals or state.at_shell:
        screen.controller.put(Interrupt())
    elif screen.was_told(ONCE_MORE) and not screen.message.box.text:
        screen.tell("")
        screen.action_do("rewind")
    else:
        screen.tell(ONCE_MORE if screen.controller.begun and not screen.message.box.text else "nothing is running")


def _gate(screen: MainScreen, argument: str) -> None:
    state = screen.controller.state
    if argument and argument not in list(GateMode):
        raise RundryError(f"/gate {argument}: use read, ask, edits or auto")
    mode = GateMode(argument) if argument else CYCLE[(CYCLE.index(state.gate_mode) + 1) % len(CYCLE)]
    if not screen.controller.begun:
        state.gate_mode = mode
        screen.set_option("gate", mode.value)
        return
    unheld = mode is GateMode.AUTO and state.sandbox is None
    if unheld and argument and screen.was_told(UNSANDBOXED):
        screen.controller.set_gate(mode, unsandboxed_ok=True)
    elif unheld and argument:
        screen.tell(UNSANDBOXED)
    elif unheld:
        screen.controller.set_gate(GateMode.READ)
        screen.tell("auto was skipped: there is no sandbox. Use /gate auto to set it")
    else:
        screen.controller.set_gate(mode)


def _deny(screen: MainScreen, argument: str) -> None:
    if argument:
        screen.controller.put(AddRule(rule=parse_deny(argument)))
    else:
        screen.fill("/deny path:")


def _pause(screen: MainScreen, argument: str) -> None:
    if screen.controller.is_gone:
        screen.controller.go_on("")
    elif screen.controller.state.paused:
        screen.controller.put(Unpause())
    else:
        screen.controller.put(Pause(now=argument == "now"))


def _resume(screen: MainScreen, argument: str) -> None:
    screen.controller.go_on(argument)


def _step(screen: MainScreen, argument: str) -> None:
    del argument
    screen.controller.put(StepOnce())


def _limit(screen: MainScreen, argument: str) -> None:
    name, _, value = argument.partition(" ")
    if not value:
        state = screen.controller.state
        ended, budget = state.outcome, state.budget
        wanted = None if name or ended is None or budget is None else raised(ended, budget)
        screen.fill("/limit " + (" ".join(wanted) if wanted is not None else f"{name} " if name else ""))
        return
    screen.controller.set_limit(*parse_limit(name, value))


def _model(screen: MainScreen, argument: str) -> None:
    if not argument:
        screen.fill("/model ")
        return
    asked = screen.controller.switch_model(screen.controller.model_named(argument))
    screen.tell(f"asking {argument}", asked=asked)


def _effort(screen: MainScreen, argument: str) -> None:
    if not argument:
        screen.fill("/effort ")
        return
    if argument not in EFFORTS:
        raise RundryError(f"/effort {argument}: use {', '.join(EFFORTS[:-1])} or {EFFORTS[-1]}")
    screen.controller.switch_model(screen.controller.with_effort(argument), asks=False)


def _stop(screen: MainScreen, argument: str) -> None:
    if argument in screen.controller.state.background:
        screen.controller.put(StopCommand(name=argument))
        return
    if argument not in ("", "now"):
        raise RundryError(f"/stop {argument}: use /stop, /stop now, or /stop NAME for a background command")
    screen.controller.put(Stop(how="now" if argument else "wrap_up"))


def _wake(screen: MainScreen, argument: str) -> None:
    del argument
    screen.controller.put(Wake())


def _queue(screen: MainScreen, argument: str) -> None:
    del argument
    queue = screen.controller.state.queue
    if not queue:
        screen.tell("nothing is queued")
        return
    screen.controller.put(Unqueue(queued_id=queue[-1].queued_id))
    draft = screen.message.box.text
    screen.fill(queue[-1].text + (f"\n{draft}" if draft.strip() else ""))


def _undo(screen: MainScreen, argument: str) -> None:
    changes, step = _wanted(argument)
    if step is None and changes == 1:
        screen.controller.undo(Undo())
    else:
        _undo_when_confirmed(screen, changes, step)


def _best(screen: MainScreen, argument: str) -> None:
    del argument
    state = screen.controller.state
    if state.loop is not LoopKind.IMPROVE:
        raise RundryError("/best works only in a run with --score")
    if not state.scores:
        raise RundryError("nothing has been measured yet: the files are unchanged")
    if state.pass_step is None:
        screen.tell(f"the files already have the best score: {state.scores[-1].best:g}")
        return
    if state.activity and not screen.controller.is_at_rest:
        raise RundryError("a step is running: press esc to interrupt it, then use /best")
    if not screen.controller.changes().since(state.pass_step):
        screen.tell(f"this pass changed nothing: the files have the best score, {state.scores[-1].best:g}")
        return
    _undo_when_confirmed(screen, 1, state.pass_step)


def _undo_last(screen: MainScreen, argument: str) -> None:
    del argument
    _undo_when_confirmed(screen, 1, None)


def _wanted(argument: str) -> tuple[int, int | None]:
    """How many changes, or back to before which step. Raises RundryError."""
    words = argument.split()
    match words:
        case []:
            return 1, None
        case [number] if number.isdecimal() and int(number) > 0:
            return int(number), None
        case ["step", number] if number.isdecimal():
            return 1, int(number)
        case _:
            raise RundryError(f"/undo {argument}: use /undo, /undo 3 or /undo step 7")


def _undo_when_confirmed(screen: MainScreen, changes: int, step: int | None) -> None:
    from ..screens.dialogs.undo import UndoScreen

    made = screen.controller.changes()
    if step is None:
        chosen = made.standing[-changes:]
    elif (since := made.since(step)) is not None:
        chosen = list(since)
    else:
        raise RundryError(f"/undo step {step}: there is no such step")
    if not chosen:
        screen.tell("all changes are already undone" if made.undone else "nothing has been changed yet")
        return
    command = Undo(changes=len(chosen), step=step)

    def decided(yes: bool | None) -> None:
        try:
            if yes:
                screen.controller.undo(command)
        except RundryError as error:
            screen.tell(str(error))

    screen.rundry.push_screen(UndoScreen(chosen, step), decided)


def _clear(screen: MainScreen, argument: str) -> None:
    del argument
    screen.controller.put(Clear())


DOINGS: Mapping[str, Callable[[MainScreen, str], None]] = {
    "interrupt": _interrupt,
    "gate": _gate,
    "deny": _deny,
    "pause": _pause,
    "resume": _resume,
    "step": _step,
    "limit": _limit,
    "model": _model,
    "effort": _effort,
    "stop": _stop,
    "wake": _wake,
    "queue": _queue,
    "undo": _undo,
    "undo_last": _undo_last,
    "best": _best,
    "clear": _clear,
}
