"""What the loop's decisions mean in deeds: works performed, waits waited, ends ended, a person heard in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from ..journal.facts import RunFacts
from ..loops import LoopState
from ..protocol import (
    Finish,
    HandoffClosed,
    HandoffOpened,
    LoopKind,
    Outcome,
    Paused,
    Prompted,
    Reason,
    RunResumed,
    Said,
    Unpaused,
    Wait,
    Waiting,
    Work,
    WorkResult,
)
from ..step import Kit, perform, wrap_up
from .handoff import handoff_record, suggested_action
from .outcome import outcome_of


class Conduct:
    """One run in motion. The runner's inbox sets the wishes; the loop honours them between two steps."""

    def __init__(self, kit: Kit, tools: Sequence[str]) -> None:
        self.kit = kit
        self.tools = tools
        self.stop: str | None = None
        """`wrap_up` or `now` once someone asked for it."""
        self.stop_detail = ""
        self.step_once = False
        self._to_tell: list[Prompted] = []
        self.steers: set[int] = set()
        """Queued messages that interrupted the step."""
        self.waits = False
        """Nothing happens until a person does something."""

    @property
    def facts(self) -> RunFacts:
        """What the journal says so far."""
        return self.kit.facts

    def state(self, results: Sequence[WorkResult]) -> LoopState:
        """What the loop decides from."""
        return LoopState(self.facts, results, self.kit.watched())

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
        """Honours a pause, then delivers the messages that waited."""
        await self._until(lambda: not self.facts.paused or self.step_once or self._deadline_passed())
        self.deliver()

    def tell(self, prompted: Prompted) -> None:
        """The model hears it before its next call; at once where no step runs."""
        if self.kit.active:
            self._to_tell.append(prompted)
        else:
            self.kit.record(prompted)

    def deliver(self) -> None:
        """What waited joins the conversation: the program's words, then queued messages, those that steered first."""
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
            self.kit.record(Said(text=queue[queued_id], kind=kind, queued_id=queued_id))
        self.steers.clear()

    async def perform(self, works: Sequence[Work]) -> list[WorkResult]:
        """All works, at once where there are several."""
        with self.kit.activity():
            if len(works) == 1:
                results = [await perform(self.kit, works[0], self.tools)]
            else:
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(perform(self.kit, work, self.tools)) for work in works]
                results = [task.result() for task in tasks]
        if self.step_once:
            self.step_once = False
            self.pause("one step was asked for", by="program")
        elif any(r.interrupted for r in results):
            self.rest()
        return results

    async def wait(self, decision: Wait) -> None:
        """Until the time is over, a message came, or a stop was asked for."""
        if decision.seconds is not None:
            sleep = asyncio.ensure_future(self.kit.clock.sleep(decision.seconds))
            sleep.add_done_callback(lambda _: self.kit.news.set())
            try:
                await self._until(lambda: sleep.done() or bool(self.facts.queue), of_person=False)
            finally:
                sleep.cancel()
            return
        self.kit.record(Waiting(why=decision.why))
        await self._until(lambda: bool(self.facts.queue))

    async def end(self, decision: Finish) -> Outcome | None:
        """The outcome; None where a person is there to be asked first, and the run goes on from what they do."""
        if decision.reason is Reason.HANDOFF:
            self._open_handoff(decision.detail)
            if self.kit.watched() and await self._handed_back():
                return None
        if decision.reason is Reason.ERROR and self.kit.watched():
            self.pause(decision.detail, by="program")
            return None
        answer = await wrap_up(self.kit, decision.detail) if decision.wrap_up and self.stop != "now" else None
        if self.facts.spec.loop is LoopKind.CHAT and decision.reason is Reason.BUDGET:
            await self._until_more()
            return None
        return outcome_of(
            self.facts, decision, answer=answer, seconds=self.kit.uncounted(), journal=self.kit.journal.path
        )

    async def taken_up_again(self) -> bool:
        """After the end: true when a person who looks on raised a limit, switched the model, or said something."""
        facts, self.stop = self.facts, None
        budget, model = facts.budget, facts.model

        def moved() -> bool:
            return bool(facts.queue) or facts.budget != budget or facts.model != model

        await self._until(lambda: moved() or not self.kit.watched(), of_person=False)
        if self.stop is not None or not moved():
            return False
        self.kit.record(RunResumed(run_id=facts.spec.run_id, from_seq=facts.last_seq))
        return True

    def rest(self) -> None:
        """After an interrupt the run waits, but for a chat, which waits anyway.

        A message, a stop or a deadline that came with the interrupt goes on at once.
        """
        if self.stop is not None or self.facts.queue or self._deadline_passed():
            return
        if self.facts.spec.loop is not LoopKind.CHAT:
            self.pause("interrupted", by="person")

    def pause(self, why: str, *, by: str) -> None:
        """The run rests until someone lets it go on."""
        if not self.facts.paused:
            self.kit.record(Paused(by=by, why=why))

    def unpause(self) -> None:
        """The run goes on."""
        if self.facts.paused:
            self.kit.record(Unpaused())

    def _deadline_passed(self) -> bool:
        deadline = self.facts.budget.deadline
        return deadline is not None and self.kit.clock.now() >= deadline

    def _open_handoff(self, reason: str) -> None:
        facts = self.facts
        self.kit.record(
            HandoffOpened(reason=reason, suggested_action=suggested_action(facts, reason), record=handoff_record(facts))
        )

    async def _handed_back(self) -> bool:
        """A person took it up or stopped it: true when the run goes on from that. False: they went away."""
        self.kit.record(Waiting(why="handoff"))
        await self._until(lambda: bool(self.facts.queue) or self.facts.handoff is None or not self.kit.watched())
        if self.facts.queue and self.facts.handoff is not None:
            self.kit.record(HandoffClosed(by="person"))
        return self.stop is not None or self.facts.handoff is None

    async def _until_more(self) -> None:
        """A chat whose budget is used up goes on with the next message, or where a limit is raised."""
        budget = self.facts.budget
        self.kit.record(Waiting(why="message"))
        await self._until(lambda: bool(self.facts.queue) or self.facts.budget != budget)

    async def _until(self, enough: Callable[[], bool], *, of_person: bool = True) -> None:
        """Looks again at whatever news there is; a stop is always enough. `of_person`: someone has to do something."""
        self.waits = of_person
        try:
            await self.kit.until(lambda: self.stop is not None or enough())
        finally:
            self.waits = False
