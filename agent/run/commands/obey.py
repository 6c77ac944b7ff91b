"""Obey a user's commands, or refuse them with a reason."""

from __future__ import annotations

from typing import assert_never

from ...finder.search_commands import FinderCommand, hear
from ...gate.change.resolve_conflict import CHANGED
from ...protocol import (
    Act,
    AddItem,
    AddLens,
    AddRule,
    Answer,
    Clear,
    Command,
    Compact,
    ConversationCut,
    Decide,
    EditQueued,
    GiveWheel,
    HandoffClosed,
    Interrupt,
    Judge,
    LoopKind,
    Merge,
    Pause,
    Paused,
    Prompted,
    QuestionAnswered,
    Queued,
    Rewind,
    Say,
    SetGateMode,
    SetLimit,
    Shell,
    SkipItem,
    Steer,
    StepOnce,
    Stop,
    StopCommand,
    SwitchModel,
    TakeWheel,
    Undo,
    Unpause,
    Unqueue,
    Unqueued,
    Wake,
)
from ..live.live_run import LiveRun
from ..setup.attachments import refuse_images
from .compacting import compact
from .control import act, give_wheel, take_wheel
from .reconfigure import OpenModel, add_rule, set_limit, set_mode, switch_model
from .rewind import rewind
from .shell import interrupt_shells, run_for_person
from .undo import undo


async def obey(run: LiveRun, command_id: int, command: Command, open_model: OpenModel) -> str | None:
    """Obey a command. Returns None, or why it was refused."""
    match command:
        case Say() | Steer() | EditQueued() | Unqueue() | Answer() | Decide() | Clear():
            return _take_message(run, command_id, command)
        case Pause() | Unpause() | StepOnce() | Interrupt() | Stop():
            return _brake(run, command)
        case SetLimit(name=name, value=value):
            return set_limit(run, name, value)
        case SwitchModel(model=model, ask_above=ask_above):
            return await switch_model(run, model, open_model, ask_above=ask_above)
        case SetGateMode(mode=mode, unsandboxed_ok=unsandboxed_ok):
            return set_mode(run, mode, unsandboxed_ok=unsandboxed_ok)
        case AddRule(rule=rule):
            return add_rule(run, rule)
        case Wake():
            return _wake(run)
        case Judge() | Merge() | AddItem() | SkipItem() | AddLens():
            return _search(run, command)
        case Shell() | Undo() | Rewind() | Compact() | TakeWheel() | GiveWheel() | Act() | StopCommand():
            return await _act_for_user(run, command_id, command)
        case _:
            assert_never(command)


async def _act_for_user(
    run: LiveRun,
    command_id: int,
    command: Shell | Undo | Rewind | Compact | TakeWheel | GiveWheel | Act | StopCommand,
) -> str | None:
    """Handle commands by which the user works or undoes something."""
    match command:
        case Shell():
            return await run_for_person(run, command_id, command)
        case Undo():
            return await undo(run, command)
        case Rewind():
            return await rewind(run, command)
        case Compact():
            return await compact(run, command)
        case TakeWheel():
            return await take_wheel(run)
        case GiveWheel(note=note):
            return await give_wheel(run, note)
        case Act():
            return await act(run, command)
        case StopCommand(name=name):
            stopped = await run.kit.background.stop(name, "person", run.kit.events.record)
            if stopped is None:
                return f"nothing runs in the background under `{name}`"
            run.messages.send(
                Prompted(kind="background", text=f"The person ended `{name}`, which ran in the background.")
            )
            return None


def _search(run: LiveRun, command: FinderCommand) -> str | None:
    """Handle a command to the search; the loop then decides again."""
    if run.finder is None:
        return f"{run.facts.spec.loop.a_run} has no findings or items"
    refused = hear(run.finder, command)
    if refused is None:
        run.pool.ask_loop_again()
    return refused


def _wake(run: LiveRun) -> str | None:
    if not run.sleeper.is_asleep:
        return "the run does not sleep"
    run.sleeper.wake()
    run.kit.activity.wake()
    return None


def _take_message(
    run: LiveRun, command_id: int, command: Say | Steer | EditQueued | Unqueue | Answer | Decide | Clear
) -> str | None:
    """Handle the user's messages, answers and decisions."""
    kit = run.kit
    match command:
        case Say():
            return _queue(run, command_id, command)
        case Steer():
            return _steer(run, command_id, command)
        case EditQueued(queued_id=queued_id, text=text, images=images):
            if queued_id not in run.facts.queue:
                return "that message was already delivered"
            if not text.strip():
                return "the message is empty: remove it from the queue instead"
            if refused := refuse_images(kit, images):
                return refused
            kit.events.record(Queued(queued_id=queued_id, text=text, images=images))
        case Unqueue(queued_id=queued_id):
            if queued_id not in run.facts.queue:
                return "that message was already delivered"
            kit.events.record(Unqueued(queued_id=queued_id))
        case Decide():
            return _decide(run, command)
        case Answer(question_id=question_id, text=text):
            if question_id not in run.facts.asking.questions:
                return "there is no open question with that id"
            kit.events.record(QuestionAnswered(question_id=question_id, text=text))
        case Clear():
            return _clear(run)
    return None


def _decide(run: LiveRun, command: Decide) -> str | None:
    """Record a decision. A decision on a proposal that was left open also closes the hand-off."""
    gate, opened = run.kit.gate, run.facts.asking.proposals.get(command.proposal_id)
    if opened is not None and command.proposal_id not in (*gate.open, *gate.later.proposals):
        # this runner is about to open the proposal again
        if (run.facts.asking.conflict_of(command.proposal_id) or opened.digest) != command.digest:
            return CHANGED
        gate.later.given[command.proposal_id] = command
        return None
    refused = gate.decide(command)
    if refused is None and command.proposal_id in gate.later.given and run.facts.handoff is not None:
        run.kit.events.record(HandoffClosed(by="person"))
    return refused


def _queue(run: LiveRun, command_id: int, said: Say | Steer) -> str | None:
    if not said.text.strip():
        return "the message is empty"
    if refused := refuse_images(run.kit, said.images):
        return refused
    run.kit.events.record(Queued(queued_id=command_id, text=said.text, images=said.images))
    run.pauses.unpause()
    return None


def _steer(run: LiveRun, command_id: int, said: Steer) -> str | None:
    refused = _queue(run, command_id, said)
    if refused is None:
        run.queue.mark_steer(command_id)
        run.kit.gate.cancel_all(f"the person said instead: {said.text}")
        run.kit.activity.interrupt("steer")
    return refused


def _clear(run: LiveRun) -> str | None:
    """Clear the conversation, but only between steps: a result must not stand without its call."""
    if run.facts.spec.loop is not LoopKind.CHAT:
        return f"only a chat can be cleared: {run.facts.spec.loop.a_run} works on its task"
    if run.kit.activity.is_running:
        return "a step runs: interrupt it first, then clear"
    run.kit.events.record(ConversationCut())
    return None


def _brake(run: LiveRun, command: Pause | Unpause | StepOnce | Interrupt | Stop) -> str | None:
    kit = run.kit
    match command:
        case Pause(now=now):
            kit.activity.end_one_step()
            if not run.facts.paused:
                kit.events.record(Paused())
            if now:
                kit.gate.cancel_all("the person paused the run")
                kit.activity.interrupt("pause")
        case Unpause():
            if run.facts.handoff is not None and run.facts.ended is None:
                kit.events.record(HandoffClosed(by="person"))
            elif not run.facts.paused:
                return "the run is not paused"
            run.pauses.unpause()
        case StepOnce():
            if not run.facts.paused:
                kit.events.record(Paused(why="one step was asked for"))
            kit.activity.allow_one_step()
        case Interrupt():
            if interrupt_shells(run):
                return None
            kit.activity.end_one_step()
            kit.gate.cancel_all("the person interrupted the step")
            return None if kit.activity.interrupt("interrupt") else "nothing is running that could be interrupted"
        case Stop(how=how):
            if how not in ("wrap_up", "now"):
                return f"unknown stop `{how}`: use `wrap_up` or `now`"
            run.requests.ask_to_stop(how, "the person stopped it")
    return None
