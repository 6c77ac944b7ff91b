"""Commands of a person, obeyed or refused with the reason."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import assert_never

from ..journal.facts import replace_budget
from ..protocol import (
    AddItem,
    AddLens,
    Answer,
    BudgetChanged,
    Clear,
    Command,
    Compact,
    ConversationCut,
    Decide,
    EditQueued,
    GateMode,
    GateModeChanged,
    GiveWheel,
    Interrupt,
    Judge,
    Merge,
    ModelSpec,
    ModelSwitched,
    Pause,
    Paused,
    QuestionAnswered,
    Queued,
    Rewind,
    RundryError,
    Say,
    SetGateMode,
    SetLimit,
    Shell,
    SkipItem,
    Steer,
    StepOnce,
    Stop,
    SwitchModel,
    TakeWheel,
    Undo,
    Unpause,
    Unqueue,
    Unqueued,
    Wake,
)
from ..protocol import Model as ModelPort
from .conduct import Conduct

OpenModel = Callable[[ModelSpec], Awaitable[ModelPort]]
LIMITS = ("steps", "tokens", "usd", "seconds", "deadline")


async def obey(run: Conduct, command_id: int, command: Command, open_model: OpenModel) -> str | None:
    """None: it was done. Else why it was refused."""
    match command:
        case Say(text=text):
            return _queue(run, command_id, text)
        case Steer(text=text):
            run.steers.add(command_id)
            refused = _queue(run, command_id, text)
            if refused is None:
                run.kit.gate.cancel_all(f"the person said instead: {text}")
                run.kit.interrupt("steer")
            return refused
        case EditQueued(queued_id=queued_id, text=text):
            if queued_id not in run.facts.queue:
                return "that message was delivered already"
            run.kit.record(Queued(queued_id=queued_id, text=text))
            return None
        case Unqueue(queued_id=queued_id):
            if queued_id not in run.facts.queue:
                return "that message was delivered already"
            run.kit.record(Unqueued(queued_id=queued_id))
            return None
        case Decide():
            return run.kit.gate.decide(command)
        case Answer(question_id=question_id, text=text):
            if question_id not in run.facts.questions:
                return "nothing is asked under that id"
            run.kit.record(QuestionAnswered(question_id=question_id, text=text))
            return None
        case Pause(now=now):
            if not run.facts.paused:
                run.kit.record(Paused())
            if now:
                run.kit.interrupt("pause")
            return None
        case Unpause():
            if not run.facts.paused:
                return "the run is not paused"
            run.unpause()
            return None
        case StepOnce():
            if not run.facts.paused:
                run.kit.record(Paused(why="one step was asked for"))
            run.step_once = True
            return None
        case Interrupt():
            run.kit.gate.cancel_all("the person interrupted the step")
            return None if run.kit.interrupt("interrupt") else "nothing runs that could be interrupted"
        case Stop(how=how):
            return _stop(run, how)
        case SetLimit(name=name, value=value):
            return _set_limit(run, name, value)
        case SwitchModel(model=model):
            return await _switch_model(run, model, open_model)
        case SetGateMode(mode=mode, unsandboxed_ok=unsandboxed_ok):
            return _set_mode(run, mode, unsandboxed_ok=unsandboxed_ok)
        case Clear():
            run.kit.record(ConversationCut())
            return None
        case Wake():
            return "the run does not sleep"
        case Judge() | Merge() | AddItem() | SkipItem() | AddLens():
            return f"a {run.facts.spec.loop} run has no findings or items"
        case TakeWheel() | GiveWheel() | Shell() | Undo() | Rewind() | Compact():
            return "this version cannot do that yet"
        case _:
            assert_never(command)


def _queue(run: Conduct, command_id: int, text: str) -> str | None:
    if not text.strip():
        return "the message is empty"
    run.kit.record(Queued(queued_id=command_id, text=text))
    if run.facts.paused:
        run.unpause()
    return None


def _stop(run: Conduct, how: str) -> str | None:
    if how not in ("wrap_up", "now"):
        return f"stop `{how}`: it is `wrap_up` or `now`"
    run.stop = how
    run.kit.gate.cancel_all("the person stopped the run")
    run.kit.interrupt("stop")
    return None


def _set_limit(run: Conduct, name: str, value: float | None) -> str | None:
    if name not in LIMITS:
        return f"there is no limit `{name}`; there are {', '.join(LIMITS)}"
    if value is not None and (value != value or value < 0):
        return f"a limit is a number of 0 or more, not {value}"
    run.kit.record(BudgetChanged(budget=replace_budget(run.facts.budget, name, value)))
    return None


async def _switch_model(run: Conduct, spec: ModelSpec, open_model: OpenModel) -> str | None:
    try:
        model = await open_model(spec)
        await model.probe()
    except RundryError as error:
        return str(error)
    run.kit.model = model
    run.kit.record(
        ModelSwitched(model=model.name, local=model.local, window=model.window, priced=model.price is not None)
    )
    if run.facts.paused:
        run.unpause()
    return None


def _set_mode(run: Conduct, mode: GateMode, *, unsandboxed_ok: bool) -> str | None:
    gate = run.kit.gate
    if mode is GateMode.AUTO and run.kit.sandbox.kind is None and not (unsandboxed_ok or gate.unsandboxed_ok):
        return "no sandbox works here: in `auto` commands would run unsandboxed; confirm it to switch"
    gate.mode = mode
    gate.unsandboxed_ok = gate.unsandboxed_ok or unsandboxed_ok
    run.kit.record(GateModeChanged(mode=mode))
    return None
