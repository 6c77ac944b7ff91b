"""What the loop's decisions mean in deeds: works performed, waits waited, ends ended, a person heard in between."""

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
    Prompted,
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
from ..workspace import Finished
from .commands.control import give_back, wheel_taken
from .evidence import evidence_at_end
from .outcome import outcome_of
from .passes.passes import Passes, has_passes
from .pool import Pool
from .setup.concurrent_runs import neighbours
from .suspect import settled_by_person


class RunDriver:
    """One run in motion. The runner's inbox sets the wishes; the loop honours them between two steps."""

    def __init__(self, kit: Kit, tools: Sequence[str], finder: Finder | None = None) -> None:
        self.kit = kit
        self.tools = tools
        self.finder = finder
        """Of an until-dry run."""
        self.passes = Passes(kit, tools) if has_passes(kit.facts.spec) else None
        """Of an interval or improve run."""
        self.is_asleep = False
        self.woken = False
        """Someone woke it."""
        self.pool = Pool(self._perform)
        self._exhausted: tuple[Budget | None, str | None] = (None, None)
        self.stop: str | None = None
        """`wrap_up` or `now` once someone asked for it."""
        self.stop_detail = ""
        self._to_tell: list[Prompted] = []
        self.steers: set[int] = set()
        """Queued messages that interrupted the step."""
        self.wheel_asked = False
        """A person wants to drive; they do as soon as nothing runs."""
        self.shells: set[asyncio.Task[Finished]] = set()
        """Commands of the person's own that run."""
        self.waits = False
        """Nothing happens until a person does something."""
        self.files_at_rest = asyncio.Lock()
        """Held while something is undone: no step begins meanwhile."""
        kit.background.tell = self.tell
        self.look: Callable[[], Awaitable[None]] = _nothing
        """Obeys what lies in the inbox."""
        self.hand_over: Callable[[str], Awaitable[bool]] = _nobody
        """Opens a hand-off for this reason and asks whoever is to be asked; true when the run goes on from that."""
        self.before_deciding: Callable[[], Awaitable[Finish | None]] = _nothing
        """An end that comes before the loop's own decision."""

    @property
    def facts(self) -> RunFacts:
        """What the journal says so far."""
        return self.kit.facts

    def state(self, results: Sequence[WorkResult]) -> LoopState:
        """What the loop decides from."""
        finder = None
        if self.finder is not None:
            self.pool.take_stir()
            budget, detail = self._exhausted
            finder = self.finder.state(self.pool.busy, detail if budget == self.facts.budget else None)
        now, price = self.kit.clock.now(), self.kit.model.price
        return LoopState(self.facts, results, self.kit.watched(), finder, self.pool.busy, now, price)

    def ask_to_stop(self, how: str, detail: str) -> None:
        """Ends what runs. `how`: `wrap_up`, or `now`, which also ends a wrap-up and is not taken back."""
        if self.stop != "now":
            self.stop, self.stop_detail = how, detail
        self.kit.gate.cancel_all(detail)
        self.kit.interrupt("stop")
        self.kit.news.set()

    def stop_asked(self) -> Finish | None:
        """The person's stop, or nothing."""
        if self.stop is None:
            return None
        return Finish(reason=Reason.USER, detail=self.stop_detail, wrap_up=self.stop == "wrap_up")

    async def between_steps(self) -> None:
        """Hears what a person asked for, honours a pause, then delivers the messages that waited."""
        await self.look()
        await self.until(lambda: not self.facts.paused or self.kit.step_once or self.kit.deadline_passed())
        await self._let_drive()
        self.deliver()
        if self.facts.verdicts.is_check_due and self.stop is None:
            await self.ask_checks()

    async def _let_drive(self) -> None:
        """The wheel goes to the person who asked for it, and the loop rests until they give it back."""
        if self.wheel_asked and not self.is_driven and self.can_be_driven:
            self.kit.record(await wheel_taken(self.kit))
        self.wheel_asked = False
        self.kit.news.set()
        await self.until(lambda: not self.is_driven)
        if self.is_driven:
            await give_back(self.kit, "", by="program")

    @property
    def can_be_driven(self) -> bool:
        """What a person changes at the wheel belongs to something: to the run, or to the pass that is open."""
        return self.passes is None or self.passes.is_open

    @property
    def is_driven(self) -> bool:
        """A person has the wheel."""
        return self.facts.hands.wheel is not None

    async def ask_checks(self) -> None:
        """The predicates are asked outside of a step: before the first one, and after an undo."""
        async with self.files_at_rest:
            with self.kit.activity():
                try:
                    self.kit.facts.world = await self.kit.look_at_world()
                    await verify(self.kit, self.kit.recorder(None, None), claim=False, baseline=True)
                except PersonInterrupted:
                    self.rest()

    def tell(self, prompted: Prompted) -> None:
        """The model hears it before its next call; at once where no step runs."""
        if self.kit.active:
            self._to_tell.append(prompted)
        else:
            self.kit.record(prompted)

    def deliver(self) -> None:
        """What waited joins the conversation: the program's words, then queued messages, those that steered first.

        While a proposal stays open its call has no result, and nothing can come before that.
        """
        if self.facts.main.unanswered():
            return
        for prompted in self._to_tell:
            self.kit.record(prompted)
        self._to_tell.clear()
        queue = self.facts.queue
        if queue:
            self.kit.stall_watch(None).person_said()
        for queued_id in sorted(queue, key=lambda i: (i not in self.steers, i)):
            kind = "steer" if queued_id in self.steers else "say"
            if not self.facts.spec.task and not any(m.role == "user" for m in self.facts.main.messages):
                kind = "task"
            queued = queue[queued_id]
            self.kit.record(Said(text=queued.text, kind=kind, queued_id=queued_id, images=queued.images))
        self.steers.clear()

    async def perform(self, again: Again) -> list[WorkResult]:
        """Begins these works; what came of those that ended, as soon as one of all that run has."""
        if self.kit.step_once and again.works:
            self.kit.step_once = False
            self.pool.start(again.works[:1])
        else:
            self.pool.start(again.works)
        results = await self.pool.next(again.within)
        if any(r.interrupted for r in results):
            results += await self.pool.drain()  # it hit them all: what starts after it must not be hit too
        if any(r.interrupted for r in results):
            self.rest()
        self._note_exhausted(results)
        return results

    async def _perform(self, work: Work) -> WorkResult:
        async with self.files_at_rest:
            pass
        with self.kit.activity():
            if self.finder is not None:
                return await self.finder.perform(work)
            if self.passes is not None and work.kind != "main":
                return await self.passes.perform(work)
            return await perform(self.kit, work, self.tools)

    def _note_exhausted(self, results: Sequence[WorkResult]) -> None:
        """Others may still run when one work finds a budget empty: it holds until a limit moves."""
        for result in results:
            if result.exhausted is not None:
                self._exhausted = (self.facts.budget, result.exhausted)

    async def wait(self, decision: Wait) -> None:
        """Until the time is over, a message came, or a stop was asked for."""
        if decision.sleep is not None:
            await self._sleep(decision.sleep)
            return
        if decision.seconds is not None:
            sleep = asyncio.ensure_future(self.kit.clock.sleep(decision.seconds))
            sleep.add_done_callback(lambda _: self.kit.news.set())
            try:
                await self.until(
                    lambda: sleep.done() or bool(self.facts.queue) or self.pool.take_stir(), of_person=False
                )
            finally:
                sleep.cancel()
            return
        self.kit.record(Waiting(why=decision.why))
        await self.until(lambda: bool(self.facts.queue))

    async def _sleep(self, asleep: Sleeping) -> None:
        """Visibly; a person, a message or the deadline ends it early."""
        clock = self.kit.clock
        self.kit.record(asleep)
        began = clock.monotonic()
        timer = asyncio.ensure_future(clock.sleep(asleep.seconds))
        timer.add_done_callback(lambda _: self.kit.news.set())
        self.is_asleep, self.woken = True, False
        try:
            by = await self._roused(timer)
        finally:
            self.is_asleep = False
            timer.cancel()
        if by is not None:
            self.kit.record(Woken(by=by, slept=clock.monotonic() - began))
            self.kit.stalls.pop(None, None)  # to look again after a while is no circle

    async def _roused(self, timer: asyncio.Future[None]) -> str | None:
        """By whom; None: the run is to stop."""

        def who() -> str | None:
            if self.woken or self.wheel_asked:
                return "person"
            if self.facts.queue:
                return "message"
            if self.kit.deadline_passed():
                return "deadline"
            return "clock" if timer.done() else None

        await self.until(lambda: who() is not None, of_person=False)
        return who()

    async def end(self, decision: Finish) -> Outcome | None:
        """The outcome; None where a person is there to be asked first, and the run goes on from what they do."""
        await self.pool.drain()
        if decision.reason is Reason.REFUSED and self.facts.spent.steps:  # something was done: it was not refused
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
            seconds=self.kit.uncounted(),
            journal=self.kit.journal.path,
            failed_items=self.finder.failed_items() if self.finder is not None else (),
            evidence=await evidence_at_end(self.kit),
        )

    async def taken_up_again(self) -> bool:
        """After the end: true when a person who looks on raised a limit, switched the model, or said something."""
        facts, self.stop = self.facts, None
        limits, model = (facts.budget, facts.spec), facts.model

        def moved() -> bool:
            asked = bool(facts.queue) or bool(self.kit.gate.later.given) or self.pool.is_stirred or self.wheel_asked
            return asked or (facts.budget, facts.spec) != limits or facts.model != model

        await self.until(lambda: moved() or not self.kit.watched(), of_person=False)
        if self.stop is not None or not moved():
            return False
        notes = neighbours(facts.spec, self.kit.journal.path, self.kit.clock.now())
        self.kit.record(RunResumed(run_id=facts.spec.run_id, from_seq=facts.last_seq, notes=notes))
        if facts.handoff is not None:
            self.kit.record(HandoffClosed(by="person"))
        return True

    async def close(self) -> None:
        """Ends what runs and what was started for it."""
        await self.pool.cancel()
        await self.kit.background.end_all("the run ended")
        if self.passes is not None:
            await self.passes.candidates.close()
        if self.finder is not None:
            await self.finder.close()

    def rest(self) -> None:
        """After an interrupt the run waits, but for a chat, which waits anyway.

        A message, a stop or a deadline that came with the interrupt goes on at once.
        """
        if self.stop is not None or self.facts.queue or self.kit.deadline_passed():
            return
        if self.facts.spec.loop is not LoopKind.CHAT and not self.wheel_asked:
            self.pause("interrupted", by="person")

    def pause(self, why: str, *, by: str) -> None:
        """The run rests until someone lets it go on."""
        if not self.facts.paused:
            self.kit.record(Paused(by=by, why=why))

    def unpause(self) -> None:
        """The run goes on."""
        if self.facts.paused:
            self.kit.record(Unpaused())

    async def _until_more(self, detail: str) -> None:
        """A chat whose budget is used up goes on with the next message, or where a limit is raised."""
        limits = self.facts.budget, self.facts.spec
        self.kit.record(Waiting(why="message", detail=detail))
        await self.until(lambda: bool(self.facts.queue) or (self.facts.budget, self.facts.spec) != limits)

    async def until(self, enough: Callable[[], bool], *, of_person: bool = True) -> None:
        """Looks again at whatever news there is; a stop is always enough. `of_person`: someone has to do something."""
        self.waits = of_person
        try:
            await self.kit.until(lambda: self.stop is not None or self.wheel_asked or enough())
        finally:
            self.waits = False


async def _nothing() -> None:
    """There is no inbox yet."""


async def _nobody(reason: str) -> bool:
    """There is nobody to ask yet."""
    del reason
    return False
