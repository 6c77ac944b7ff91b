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

PARK_SECONDS = 1800.0
"""A run that waits for a person this long with no view attached ends its process and stays resumable."""


class Parked(Exception):
    """Nobody came: the process ends, the run stays as it is."""


class Conduct:
    """One run in motion. The runner's inbox sets the wishes; the loop honours them between two steps."""

    def __init__(self, kit: Kit, tools: Sequence[str]) -> None:
        self.kit = kit
        self.tools = tools
        self.stop: str | None = None
        """`wrap_up` or `now` once someone asked for it."""
        self.stop_detail = "the person stopped it"
        self.step_once = False
        self.steers: set[int] = set()
        """Queued messages that interrupted the step."""

    @property
    def facts(self) -> RunFacts:
        """What the journal says so far."""
        return self.kit.facts

    def state(self, results: Sequence[WorkResult]) -> LoopState:
        """What the loop decides from."""
        return LoopState(self.facts, results, self.kit.watched())

    def stop_asked(self) -> Finish | None:
        """The person's stop, or nothing."""
        if self.stop is None:
            return None
        return Finish(reason=Reason.USER, detail=self.stop_detail, wrap_up=self.stop == "wrap_up")

    async def between_steps(self) -> None:
        """Honours a pause, then delivers the messages that waited."""
        self.kit.interrupted = None
        while self.facts.paused and self.stop is None and not self.step_once:
            await self._until_news(lambda: not self.facts.paused or self.stop is not None or self.step_once)
        self.deliver()

    def deliver(self) -> None:
        """Queued messages join the conversation, those that steered first."""
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
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(perform(self.kit, work, self.tools)) for work in works]
        results = [task.result() for task in tasks]
        if self.step_once:
            self.step_once = False
            self._pause("one step was asked for")
        elif any(r.interrupted for r in results) and self._rests_after_interrupt():
            self._pause("interrupted")
        return results

    async def wait(self, decision: Wait) -> None:
        """Until the time is over, a message came, or a stop was asked for."""
        if decision.seconds is not None:
            await self.kit.clock.sleep(decision.seconds)
            return
        self.kit.record(Waiting(why=decision.why))
        await self._until_news(lambda: bool(self.facts.queue) or self.stop is not None)

    async def end(self, decision: Finish) -> Outcome | None:
        """The outcome; None where a person is there to be asked first, and the run goes on from what they do."""
        watched = self.kit.watched()
        if decision.reason is Reason.HANDOFF:
            self._open_handoff(decision.detail)
            if watched and await self._handed_back():
                return None
        if decision.reason is Reason.ERROR and watched:
            self._pause(decision.detail)
            return None
        answer = await wrap_up(self.kit, decision.detail) if decision.wrap_up and self.stop != "now" else None
        if watched and self.facts.spec.loop is LoopKind.CHAT and decision.reason is Reason.BUDGET:
            await self.wait(Wait(None, "message"))
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

        await self._until_news(lambda: moved() or self.stop is not None or not self.kit.watched())
        if self.stop is not None or not moved():
            return False
        self.kit.record(RunResumed(run_id=facts.spec.run_id, from_seq=facts.last_seq))
        return True

    def _rests_after_interrupt(self) -> bool:
        """An interrupted chat waits anyway; a message or a stop that came with the interrupt goes on at once."""
        return self.stop is None and not self.facts.queue and self.facts.spec.loop is not LoopKind.CHAT

    def _pause(self, why: str) -> None:
        if not self.facts.paused:
            self.kit.record(Paused(by="program" if why != "interrupted" else "person", why=why))

    def _open_handoff(self, reason: str) -> None:
        facts = self.facts
        self.kit.record(
            HandoffOpened(reason=reason, suggested_action=suggested_action(facts, reason), record=handoff_record(facts))
        )

    async def _handed_back(self) -> bool:
        """A person took it up: true when the run goes on."""
        self.kit.record(Waiting(why="handoff"))
        await self._until_news(lambda: bool(self.facts.queue) or self.stop is not None or not self.kit.watched())
        if not self.facts.queue:
            return self.stop is not None
        self.kit.record(HandoffClosed(by="person"))
        return True

    async def _until_news(self, enough: Callable[[], bool]) -> None:
        """Looks again whenever a command was taken, and now and then for views that went away."""
        alone_since: float | None = None
        while not enough():
            self.kit.news.clear()
            if self.kit.watched():
                alone_since = None
            else:
                now = self.kit.clock.monotonic()
                alone_since = now if alone_since is None else alone_since
                if now - alone_since > PARK_SECONDS:
                    raise Parked
            try:
                async with asyncio.timeout(5.0):
                    await self.kit.news.wait()
            except TimeoutError:
                continue

    def unpause(self, by: str = "person") -> None:
        """The run goes on."""
        if self.facts.paused:
            self.kit.record(Unpaused(by=by))
