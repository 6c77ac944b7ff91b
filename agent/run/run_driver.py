"""Carry out the loop's decisions: run work orders, sleep, finish, and handle user commands between steps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from ..facts.facts import RunFacts
from ..finder.finder import Finder
from ..loops import LoopState
from ..loops.state import undecided
from ..protocol import (
    Again,
    Budget,
    Finish,
    HandoffClosed,
    LoopKind,
    Outcome,
    Paused,
    Reason,
    RunResumed,
    Said,
    Sleeping,
    Unpaused,
    Wait,
    Waiting,
    Woken,
    Work,
    WorkResult,
)
from ..step import Kit, PersonInterrupted, perform, verify, wrap_up
from ..step.resources.program_messages import ProgramMessages
from ..workspace import Finished
from .commands.control import give_back, wheel_taken
from .evidence import evidence_at_end
from .outcome import outcome_of
from .passes.passes import Passes, has_passes
from .pool import Pool
from .setup.concurrent_runs import concurrent_runs
from .suspect import settled_by_person


class RunDriver:
    """Drive one run. The inbox records what the user asked for, and the driver acts on it between two steps."""

    def __init__(self, kit: Kit, messages: ProgramMessages, tools: Sequence[str], finder: Finder | None = None) -> None:
        self.kit, self.messages = kit, messages
        self.tools = tools
        self.finder = finder
        """The search of an until-dry run; else None."""
        self.passes = Passes(kit, tools) if has_passes(kit.facts.spec) else None
        """The passes of an interval or improve run; else None."""
        self.is_asleep = False
        self.woken = False
        """Someone ended the run's sleep."""
        self.pool = Pool(self._perform)
        self._exhausted: tuple[Budget | None, str | None] = (None, None)
        self.stop: str | None = None
        """`wrap_up` or `now` after a stop was requested."""
        self.stop_detail = ""
        self.steers: set[int] = set()
        """Ids of queued messages that interrupted the step."""
        self.wheel_asked = False
        """The user asked for control; they get it once nothing runs."""
        self.shells: set[asyncio.Task[Finished]] = set()
        """Shell commands of the user that are running."""
        self.waits = False
        """Nothing happens until the user does something."""
        self.files_at_rest = asyncio.Lock()
        """Held during an undo, so that no step begins."""
        self.look: Callable[[], Awaitable[None]] = _nothing
        """Handle the commands in the inbox."""
        self.hand_over: Callable[[str], Awaitable[bool]] = _nobody
        """Open a hand-off for this reason and try its tiers. Returns true if the run continues."""
        self.before_deciding: Callable[[], Awaitable[Finish | None]] = _nothing
        """Return an end that precedes the loop's own decision, or None."""

    @property
    def facts(self) -> RunFacts:
        """The facts of the journal so far."""
        return self.kit.facts

    def state(self, results: Sequence[WorkResult]) -> LoopState:
        """Return the state that the loop decides from."""
        finder = None
        if self.finder is not None:
            self.pool.take_stir()
            budget, detail = self._exhausted
            finder = self.finder.state(self.pool.busy, detail if budget == self.facts.budget else None)
        now, price = self.kit.clock.now(), self.kit.models.current.price
        return LoopState(self.facts, results, self.kit.watched(), finder, self.pool.busy, now, price)

    def ask_to_stop(self, how: str, detail: str) -> None:
        """Interrupt what runs and stop the run. `how`: `wrap_up`, or `now`, which is final and also ends a wrap-up."""
        if self.stop != "now":
            self.stop, self.stop_detail = how, detail
        self.kit.gate.cancel_all(detail)
        self.kit.activity.interrupt("stop")
        self.kit.activity.wake()

    def stop_asked(self) -> Finish | None:
        """Return the end that the user asked for, or None."""
        if self.stop is None:
            return None
        return Finish(reason=Reason.USER, detail=self.stop_detail, wrap_up=self.stop == "wrap_up")

    async def between_steps(self) -> None:
        """Handle user commands, wait while the run is paused, then deliver queued messages."""
        await self.look()
        await self.until(self._may_go_on)
        await self._give_control()
        self.deliver()
        if self.facts.verdicts.is_check_due and self.stop is None:
            await self.ask_checks()

    def _may_go_on(self) -> bool:
        return not self.facts.paused or self.kit.activity.one_step or self.kit.usage.deadline_passed()

    async def _give_control(self) -> None:
        """Give control to the user if they asked for it, and wait until they return it."""
        if self.wheel_asked and not self.is_driven and self.can_be_driven:
            self.kit.events.record(await wheel_taken(self.kit))
        self.wheel_asked = False
        self.kit.activity.wake()
        await self.until(lambda: not self.is_driven)
        if self.is_driven:
            await give_back(self.kit, "", by="program")

    @property
    def can_be_driven(self) -> bool:
        """Whether a user's manual changes would belong to something: to the run, or to the open pass."""
        return self.passes is None or self.passes.is_open

    @property
    def is_driven(self) -> bool:
        """Whether the user is in control."""
        return self.facts.hands.wheel is not None

    async def ask_checks(self) -> None:
        """Run the predicates outside of a step: before the first one, and after an undo."""
        async with self.files_at_rest:
            with self.kit.activity.in_progress():
                try:
                    await self.kit.world.refresh()
                    await verify(self.kit, self.kit.events.bound(None, None), claim=False, baseline=True)
                except PersonInterrupted:
                    self.rest()

    def deliver(self) -> None:
        """Add waiting messages to the conversation: the program's, then the user's, beginning with those that
        interrupted.

        While a proposal is open its call has no result, and no message may come before that result.
        """
        if self.facts.main.unanswered():
            return
        self.messages.deliver()
        queue = self.facts.queue
        if queue:
            self.kit.stalls.of(None).person_said()
        for queued_id in sorted(queue, key=lambda i: (i not in self.steers, i)):
            kind = "steer" if queued_id in self.steers else "say"
            if not self.facts.spec.task and not any(m.role == "user" for m in self.facts.main.messages):
                kind = "task"
            queued = queue[queued_id]
            self.kit.events.record(Said(text=queued.text, kind=kind, queued_id=queued_id, images=queued.images))
        self.steers.clear()

    async def perform(self, again: Again) -> list[WorkResult]:
        """Start this work. Returns the results of finished work, as soon as any running work has finished."""
        if self.kit.activity.one_step and again.works:
            self.kit.activity.end_one_step()
            self.pool.start(again.works[:1])
        else:
            self.pool.start(again.works)
        results = await self.pool.next(again.within)
        if any(r.interrupted for r in results):
            results += (
                await self.pool.drain()
            )  # the interrupt ended all of them; work that starts later must not be affected
        if any(r.interrupted for r in results):
            self.rest()
        self._note_exhausted(results)
        return results

    async def _perform(self, work: Work) -> WorkResult:
        async with self.files_at_rest:
            pass
        with self.kit.activity.in_progress():
            if self.finder is not None:
                return await self.finder.perform(work)
            if self.passes is not None and work.kind != "main":
                return await self.passes.perform(work)
            return await perform(self.kit, work, self.tools)

    def _note_exhausted(self, results: Sequence[WorkResult]) -> None:
        """Remember an exhausted budget until a limit changes; other work may still run."""
        for result in results:
            if result.exhausted is not None:
                self._exhausted = (self.facts.budget, result.exhausted)

    async def wait(self, decision: Wait) -> None:
        """Wait until the time is over, a message arrives, or a stop is requested."""
        if decision.sleep is not None:
            await self._sleep(decision.sleep)
            return
        if decision.seconds is not None:
            sleep = asyncio.ensure_future(self.kit.clock.sleep(decision.seconds))
            sleep.add_done_callback(lambda _: self.kit.activity.wake())
            try:
                await self.until(
                    lambda: sleep.done() or bool(self.facts.queue) or self.pool.take_stir(), of_person=False
                )
            finally:
                sleep.cancel()
            return
        self.kit.events.record(Waiting(why=decision.why))
        await self.until(lambda: bool(self.facts.queue))

    async def _sleep(self, asleep: Sleeping) -> None:
        """Sleep between two passes. The user, a message or the deadline ends it early."""
        clock = self.kit.clock
        self.kit.events.record(asleep)
        began = clock.monotonic()
        timer = asyncio.ensure_future(clock.sleep(asleep.seconds))
        timer.add_done_callback(lambda _: self.kit.activity.wake())
        self.is_asleep, self.woken = True, False
        try:
            by = await self._roused(timer)
        finally:
            self.is_asleep = False
            timer.cancel()
        if by is not None:
            self.kit.events.record(Woken(by=by, slept=clock.monotonic() - began))
            self.kit.stalls.forget(None)  # the same calls after a sleep are not a stall

    async def _roused(self, timer: asyncio.Future[None]) -> str | None:
        """Return what ended the sleep, or None if the run has to stop."""

        def who() -> str | None:
            if self.woken or self.wheel_asked:
                return "person"
            if self.facts.queue:
                return "message"
            if self.kit.usage.deadline_passed():
                return "deadline"
            return "clock" if timer.done() else None

        await self.until(lambda: who() is not None, of_person=False)
        return who()

    async def end(self, decision: Finish) -> Outcome | None:
        """Return the outcome, or None if a user was asked first and the run continues."""
        await self.pool.drain()
        if decision.reason is Reason.REFUSED and self.facts.spent.steps:  # steps were made, so the run was not refused
            decision = msgspec.structs.replace(decision, reason=Reason.ERROR)
        if decision.suspect and await settled_by_person(self):
            return None
        if decision.reason is Reason.HANDOFF and await self.hand_over(decision.detail):
            return None
        if decision.reason is Reason.ERROR and self.kit.watched():
            self.pause(decision.detail, by="program")
            return None
        if self.passes is not None and decision.reason not in (Reason.HANDOFF, Reason.ERROR):
            await self.passes.end(judged=self.stop != "now", asks=self.stop is None)
            if self.passes.facts.open is not None and (doubt := undecided(self.state(()))) is not None:
                return await self.end(doubt)
        elif self.passes is not None:
            await self.passes.candidates.finish_all(decision.detail)
        answer = self.finder.answer() if self.finder is not None else None
        if decision.wrap_up and self.stop != "now" and self.finder is None:
            answer = await wrap_up(self.kit, decision.detail)
        if self.facts.spec.loop is LoopKind.CHAT and decision.reason is Reason.BUDGET:
            await self._until_more(decision.detail)
            return None
        return outcome_of(
            self.facts,
            decision,
            answer=answer,
            seconds=self.kit.usage.uncounted(),
            journal=self.kit.journal.path,
            failed_items=self.finder.failed_items() if self.finder is not None else (),
            evidence=await evidence_at_end(self.kit),
        )

    async def taken_up_again(self) -> bool:
        """Wait after the end. Returns true if an attached user changes a limit, switches the model
        or sends a message.
        """
        facts, self.stop = self.facts, None
        limits, model = (facts.budget, facts.spec), facts.model

        def moved() -> bool:
            asked = bool(facts.queue) or bool(self.kit.gate.later.given) or self.pool.is_stirred or self.wheel_asked
            return asked or (facts.budget, facts.spec) != limits or facts.model != model

        await self.until(lambda: moved() or not self.kit.watched(), of_person=False)
        if self.stop is not None or not moved():
            return False
        notes = concurrent_runs(facts.spec, self.kit.journal.path, self.kit.clock.now())
        self.kit.events.record(RunResumed(run_id=facts.spec.run_id, from_seq=facts.last_seq, notes=notes))
        if facts.handoff is not None:
            self.kit.events.record(HandoffClosed(by="person"))
        return True

    async def close(self) -> None:
        """End all work and the background processes."""
        await self.pool.cancel()
        await self.kit.background.end_all("the run ended")
        if self.passes is not None:
            await self.passes.candidates.close()
        if self.finder is not None:
            await self.finder.close()

    def rest(self) -> None:
        """Pause the run after an interrupt. A chat is not paused, because it waits anyway.

        If a message, a stop or a deadline came with the interrupt, the run continues immediately.
        """
        if self.stop is not None or self.facts.queue or self.kit.usage.deadline_passed():
            return
        if self.facts.spec.loop is not LoopKind.CHAT and not self.wheel_asked:
            self.pause("interrupted", by="person")

    def pause(self, why: str, *, by: str) -> None:
        """Pause the run until someone continues it."""
        if not self.facts.paused:
            self.kit.events.record(Paused(by=by, why=why))

    def unpause(self) -> None:
        """Continue the run."""
        if self.facts.paused:
            self.kit.events.record(Unpaused())

    async def _until_more(self, detail: str) -> None:
        """Wait, in a chat whose budget is exhausted, for the next message or a changed limit."""
        limits = self.facts.budget, self.facts.spec
        self.kit.events.record(Waiting(why="message", detail=detail))
        await self.until(lambda: bool(self.facts.queue) or (self.facts.budget, self.facts.spec) != limits)

    async def until(self, enough: Callable[[], bool], *, of_person: bool = True) -> None:
        """Wait until `enough` or a stop, checking after each event. `of_person`: only the user can end the wait."""
        self.waits = of_person
        try:
            await self.kit.activity.until(lambda: self.stop is not None or self.wheel_asked or enough())
        finally:
            self.waits = False


async def _nothing() -> None:
    """Do nothing: there is no inbox yet."""


async def _nobody(reason: str) -> bool:
    """Return false: there is no hand-off yet."""
    del reason
    return False
