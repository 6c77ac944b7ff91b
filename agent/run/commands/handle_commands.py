"""Read the commands of all views from the inbox, carry each out or refuse it with a reason, and record that."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

from ...gate.resolve_conflict import PROPOSAL_CHANGED
from ...journal.write_watch import WriteWatch
from ...protocol import (
    OF_CLIENTS,
    PERSON,
    Act,
    AddItem,
    AddLens,
    AddRule,
    AddScope,
    Answer,
    Clear,
    Command,
    CommandRefused,
    CommandTaken,
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
    Park,
    Pause,
    Paused,
    Prompted,
    QuestionAnswered,
    Queued,
    RemoveRule,
    Rewind,
    Say,
    SetEditFormat,
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
    command_type,
)
from ...search.search_commands import FinderCommand, handle_search_command
from ..start.check_images import refuse_images
from .compact_command import compact
from .person_control import act, return_control, take_control
from .person_shell import interrupt_shells, run_for_person
from .reconfigure import add_rule, add_scope, remove_rule, set_edit_format, set_limit, set_mode, switch_model
from .rewind import rewind
from .undo_command import undo

if TYPE_CHECKING:
    from ...gate.gate import Gate
    from ...search.finder import Finder
    from ...state.facts.run_facts import RunFacts
    from ...state.recorder import Recorder
    from ...step.resources.activity import Activity
    from ..live.live_run import LiveRun
    from ..live.pool import Pool

_SLOW = (SwitchModel, Shell, Undo, Rewind, Compact, TakeWheel, GiveWheel, Act, StopCommand)
"""Commands that take long, so that other commands are handled meanwhile."""
_INBOX_SECONDS = 0.04
"""Seconds between two reads of the inbox while the journal is written. Otherwise, a command is read immediately."""
STALE = "the runner died before it took this command; repeat it if you still want it"


class Inbox:
    """The inbox of a run, which is read continuously and between two steps, so that commands apply to the next step."""

    def __init__(self, run: LiveRun, stale: Sequence[int]) -> None:
        """`stale`: ids of commands for an earlier runner, which are refused."""
        self._run, self._stale = run, set(stale)
        self._slow: set[asyncio.Task[None]] = set()
        self._read_lock = asyncio.Lock()
        self._writes = WriteWatch(_INBOX_SECONDS, _INBOX_SECONDS)

    async def keep_reading(self) -> None:
        """Read the inbox until cancelled. Raises what a command raised."""
        self._writes.follow(self._run.ctx.journal.path)
        try:
            while True:
                if self._run.ctx.journal.changed():
                    await self.read()
                for task in [task for task in self._slow if task.done()]:
                    self._slow.discard(task)
                    task.result()
                await self._writes.wait()
        finally:
            self._writes.close()
            for task in self._slow:
                task.cancel()
            await asyncio.gather(*self._slow, return_exceptions=True)

    async def read(self) -> None:
        """Handle the commands in the inbox. Slow commands run as tasks, so that a stop does not wait for them."""
        async with self._read_lock:
            for command_id, command in self._run.ctx.journal.inbox.take():
                if command is None:
                    _record_answer(self._run.ctx.events, command_id, None, "this version does not know that command")
                elif command_id in self._stale:
                    _record_answer(self._run.ctx.events, command_id, command, STALE)
                elif isinstance(command, _SLOW):
                    slow = asyncio.ensure_future(self._handle(command_id, command))
                    slow.add_done_callback(lambda _: self._writes.wake())
                    self._slow.add(slow)
                    await asyncio.sleep(0)  # lets the task begin, so that no step begins first
                else:
                    await self._handle(command_id, command)
            self._run.ctx.activity.wake()

    async def _handle(self, command_id: int, command: Command) -> None:
        _record_answer(
            self._run.ctx.events,
            command_id,
            command,
            await handle_command(self._run, command_id, command),
        )
        self._run.ctx.activity.wake()


def _record_answer(events: Recorder, command_id: int, command: Command | None, why: str | None) -> None:
    kind = command_type(command) if command is not None else "unknown"
    if why is None:
        events.record(CommandTaken(command_id=command_id, command=kind))
    else:
        events.record(CommandRefused(command_id=command_id, command=kind, why=why))


async def handle_command(run: LiveRun, command_id: int, command: Command) -> str | None:
    """Carry out a command. Returns None, or why it was refused."""
    if command.by != PERSON and not isinstance(command, OF_CLIENTS):
        return f"only a person can do this, not {command.by}"
    match command:
        case Say() | Steer() | EditQueued() | Unqueue() | Answer() | Decide() | Clear():
            return _take_message(run, command_id, command)
        case Pause() | Unpause() | StepOnce() | Interrupt() | Stop():
            return _control_pace(run, command)
        case Park():
            return _park(run)
        case SwitchModel(model=model, ask_above=ask_above):
            return await switch_model(run, model, ask_above=ask_above)
        case SetLimit() | SetGateMode() | SetEditFormat() | AddRule() | RemoveRule() | AddScope():
            return _change_setting(run, command)
        case Wake():
            return _wake(run, command)
        case Judge() | Merge() | AddItem() | SkipItem() | AddLens():
            return _handle_search_command(run.finder, run.pool, run.facts, command)
        case Shell() | Undo() | Rewind() | Compact() | TakeWheel() | GiveWheel() | Act() | StopCommand():
            return await _act_for_user(run, command_id, command)
        case _:
            assert_never(command)


def _change_setting(
    run: LiveRun, command: SetLimit | SetGateMode | SetEditFormat | AddRule | RemoveRule | AddScope
) -> str | None:
    match command:
        case SetLimit(name=name, value=value):
            return set_limit(run, name, value)
        case SetGateMode():
            return set_mode(run, command)
        case SetEditFormat(format=form):
            return set_edit_format(run, form)
        case AddRule(rule=rule):
            return add_rule(run.ctx.events, run.gate, rule) or _forward(run, command)
        case RemoveRule(rule=rule):
            return remove_rule(run.ctx.events, run.gate, run.facts, rule) or _forward(run, command)
        case AddScope(globs=globs):
            return add_scope(run.ctx, globs)


def _forward(run: LiveRun, command: Command) -> None:
    """Let the running child runs carry out the command as well."""
    if run.children is not None:
        run.children.forward(command)


async def _act_for_user(
    run: LiveRun,
    command_id: int,
    command: Shell | Undo | Rewind | Compact | TakeWheel | GiveWheel | Act | StopCommand,
) -> str | None:
    """Handle the commands that take long: those that change files, the conversation or who is in control."""
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
            return await take_control(run)
        case GiveWheel(note=note):
            return await _return_control(run, command_id, note)
        case Act():
            return await act(run, command)
        case StopCommand(name=name):
            stopped = await run.ctx.background.stop(name, "person", run.ctx.events)
            if stopped is None:
                return f"nothing runs in the background under `{name}`"
            run.messages.send(
                Prompted(kind="background", text=f"The person ended `{name}`, which ran in the background.")
            )
            return None


async def _return_control(run: LiveRun, command_id: int, note: str) -> str | None:
    """Return control to the model. In a chat a note is a message: it is shown, and the model answers it."""
    is_message = run.facts.spec.loop is LoopKind.CHAT and bool(note.strip())
    refused = await return_control(run, "" if is_message else note)
    return refused or (_queue(run, command_id, Say(text=note)) if is_message else None)


def _handle_search_command(finder: Finder | None, pool: Pool, facts: RunFacts, command: FinderCommand) -> str | None:
    """Handle a command for the search, and make the loop decide again."""
    if finder is None:
        return f"{facts.spec.loop.a_run} has no findings or items"
    refused = handle_search_command(finder, command)
    if refused is None:
        pool.ask_loop_again()
    return refused


def _wake(run: LiveRun, command: Wake) -> str | None:
    """End the sleep of the run, or what its model or that of its child run waits for."""
    if run.sleeper.is_asleep:
        run.sleeper.wake()
        run.ctx.activity.wake()
        return None
    if run.children is not None and run.children.running is not None:
        run.children.forward(command)
        return None
    return None if run.ctx.activity.end_waits() else "the run neither sleeps nor waits"


def _take_message(
    run: LiveRun, command_id: int, command: Say | Steer | EditQueued | Unqueue | Answer | Decide | Clear
) -> str | None:
    """Handle messages, answers and decisions of the person."""
    ctx = run.ctx
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
            if refused := refuse_images(ctx.journal, ctx.facts, ctx.models, images):
                return refused
            ctx.events.record(Queued(queued_id=queued_id, text=text, images=images))
        case Unqueue(queued_id=queued_id):
            if queued_id not in run.facts.queue:
                return "that message was already delivered"
            ctx.events.record(Unqueued(queued_id=queued_id))
        case Decide():
            return _decide(run.facts, run.ctx.events, run.gate, command)
        case Answer():
            return _answer(run.facts, ctx.events, command)
        case Clear():
            return _clear(run.facts, run.ctx.events, run.ctx.activity)
    return None


def _decide(facts: RunFacts, events: Recorder, gate: Gate, command: Decide) -> str | None:
    """Record a decision. A decision on a proposal that was left open at a hand-off also closes the hand-off."""
    opened = facts.requests.proposals.get(command.proposal_id)
    if opened is not None and command.proposal_id not in (*gate.open, *gate.postponed.proposals):
        # the proposal is from an earlier runner, and this one will open it again
        if (facts.requests.conflict_of(command.proposal_id) or opened.digest) != command.digest:
            return PROPOSAL_CHANGED
        gate.decide_later(command)
        return None
    refused = gate.decide(command)
    if refused is None and command.proposal_id in gate.postponed.decisions and facts.handoff is not None:
        events.record(HandoffClosed(by=command.by))
    return refused


def _answer(facts: RunFacts, events: Recorder, command: Answer) -> str | None:
    if command.question_id not in facts.requests.questions:
        return "there is no open question with that id"
    if command.by != PERSON and not _is_of_model(facts, command.question_id):
        return f"only a person can answer this question, not {command.by}"
    events.record(QuestionAnswered(question_id=command.question_id, text=command.text, by=command.by))
    return None


def _is_of_model(facts: RunFacts, question_id: str) -> bool:
    """Return whether the model asked this question with a call, and not the program about a result."""
    return any(
        call.call_id == question_id and call.tool == "ask_person"
        for conversation in facts.conversations.values()
        for call in conversation.unanswered()
    )


def _queue(run: LiveRun, command_id: int, said: Say | Steer) -> str | None:
    if not said.text.strip():
        return "the message is empty"
    child = run.children.running if run.children is not None and run.facts.spec.has_children else None
    if child is not None:
        return f"this run waits for its child run {child}, which has the model: rundry ctl {child} queue TEXT sends it"
    if refused := refuse_images(run.ctx.journal, run.ctx.facts, run.ctx.models, said.images):
        return refused
    run.ctx.events.record(Queued(queued_id=command_id, text=said.text, images=said.images, by=said.by))
    run.pauses.unpause(by=said.by)
    return None


def _steer(run: LiveRun, command_id: int, said: Steer) -> str | None:
    refused = _queue(run, command_id, said)
    if refused is None:
        run.queue.mark_steer(command_id)
        run.gate.cancel_all(f"the person said instead: {said.text}")
        run.ctx.activity.interrupt("steer")
    return refused


def _clear(facts: RunFacts, events: Recorder, activity: Activity) -> str | None:
    """Clear the conversation. This is refused during a step, whose result must not be recorded without its call."""
    if facts.spec.loop is not LoopKind.CHAT:
        return f"only a chat can be cleared: {facts.spec.loop.a_run} works on its task"
    if activity.is_running:
        return "a step runs: interrupt it first, then clear"
    events.record(ConversationCut())
    return None


def _control_pace(run: LiveRun, command: Pause | Unpause | StepOnce | Interrupt | Stop) -> str | None:
    ctx = run.ctx
    if run.children is not None and not isinstance(command, Stop):  # `ask_to_stop` forwards a stop
        run.children.forward(command)
    match command:
        case Pause(now=now):
            ctx.activity.end_one_step()
            if not run.facts.paused:
                ctx.events.record(Paused(by=command.by))
            if now:
                run.gate.cancel_all(f"{_who(command.by)} paused the run")
                ctx.activity.interrupt("pause")
        case Unpause():
            if run.facts.handoff is not None and run.facts.ended is None:
                ctx.events.record(HandoffClosed(by=command.by))
            elif not run.facts.paused:
                # the command was forwarded, so it continues a paused child run
                is_child_paused = run.children is not None and run.children.waits_to_continue
                return None if ctx.activity.retry_now() or is_child_paused else "the run is not paused"
            run.pauses.unpause(by=command.by)
            ctx.activity.retry_now()
        case StepOnce():
            if not run.facts.paused:
                ctx.events.record(Paused(why="one step was requested"))
            ctx.activity.allow_one_step()
        case Interrupt():
            if interrupt_shells(run.shells):
                return None
            ctx.activity.end_one_step()
            run.gate.cancel_all("the person interrupted the step")
            return None if ctx.activity.interrupt("interrupt") else "nothing is running that could be interrupted"
        case Stop(how=how):
            run.requests.ask_to_stop(how, f"{'you' if command.by == PERSON else command.by} stopped it")
    return None


def _park(run: LiveRun) -> str | None:
    """Let the runner exit, unless something runs that this would interrupt."""
    if run.facts.ended is None and not (run.waits.is_for_person or run.ctx.activity.is_resting):
        return "the run works: interrupt or pause it first"
    run.requests.parked.set()
    return None


def _who(by: str) -> str:
    return "the person" if by == PERSON else by
