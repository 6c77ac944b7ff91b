"""Items that begin and end together, and what comes between: a person, a limit, an interrupt, an error."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from fakes.played_events import spec

from rundry.agent.journal.journal import Journal
from rundry.agent.models.no_model import NO_MODEL
from rundry.agent.protocol import (
    AddItem,
    Budget,
    FinderSpec,
    LoopKind,
    ModelSpec,
    Seed,
    Work,
    WorkerSpec,
    WorkFinished,
    WorkStarted,
)
from rundry.agent.run.client.start_request import Order
from rundry.agent.run.start.assemble import assemble
from rundry.agent.run.start.inputs import Inputs, ProcessContext
from rundry.agent.search.finder import Finder
from rundry.agent.search.items.item_state import Candidate, State
from rundry.agent.search.search_commands import handle_search_command
from rundry.agent.search.search_state import works
from rundry.agent.search.workers.worker import ItemResult, WorkItem
from rundry.agent.state.facts.checkpoint import facts_of
from rundry.agent.step.tool_calls.perform_calls import GatedCalls


class Held:
    """Works an item once it is let go; each brings two more."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.begun: list[str] = []

    async def work(self, item: WorkItem) -> ItemResult:
        self.begun.append(item.value)
        await self.go.wait()
        return ItemResult(items=[Candidate("value", f"{item.value}.{n}") for n in range(2)])

    async def close(self) -> None:
        pass


@dataclasses.dataclass(slots=True)
class Search:
    """A finder on a real journal, asked for one thing at a time."""

    journal: Journal
    finder: Finder
    worker: Held

    def ordered(self) -> Sequence[Work]:
        return works(self.finder.state(frozenset(), None))

    def states(self) -> dict[str, State]:
        rows = [row for state in State for row in self.finder.frontier.page(state)]
        return {row.key: row.state for row in rows}

    def told(self, kind: type[WorkStarted] | type[WorkFinished]) -> list[str]:
        events = [stamped.event for stamped in self.journal.read(0, 10_000)]
        return [event.about for event in events if isinstance(event, kind)]


@pytest.fixture
async def search(tmp_path: Path):
    opened: list[Journal] = []

    async def make(seeds: int = 8, worker: Held | None = None, **budget: float) -> Search:
        finding = FinderSpec(
            seeds=[Seed(kind="value", value=str(n)) for n in range(seeds)], worker=WorkerSpec(command=["true"])
        )
        made = spec(
            loop=LoopKind.UNTIL_DRY,
            finder=finding,
            workspace=str(tmp_path),
            model=ModelSpec(name=NO_MODEL),
            budget=Budget(**budget),  # type: ignore[arg-type]
        )
        journal = Journal.create(tmp_path / "run.db", made)
        opened.append(journal)
        order = Order(journal=str(journal.path))
        assembled = await assemble(
            Inputs(
                journal=journal,
                facts=facts_of(journal),
                order=order,
                process=ProcessContext(),
                calls=GatedCalls(),
                on_event=lambda stamped: None,
            )
        )
        worker = worker or Held()
        finder = Finder(assembled.ctx, finding, worker, has_model=False)
        finder.begin()
        return Search(journal, finder, worker)

    yield make
    for journal in opened:
        journal.close()


async def test_an_item_that_a_person_skips_between_its_order_and_its_beginning_is_not_worked(search: Callable):
    it = await search()
    first, *others = it.ordered()
    running = [asyncio.ensure_future(it.finder.perform(work)) for work in (first, *others)]
    assert it.finder.skip(first.about)
    it.worker.go.set()
    results = await asyncio.gather(*running)
    assert [result.steps for result in results] == [0] + [1] * len(others)
    assert first.about not in it.told(WorkStarted)
    assert it.states()[first.about] == State.SKIPPED
    assert sorted(it.worker.begun) == [work.about for work in others]


async def test_of_those_that_begin_together_only_as_many_begin_as_there_are_steps(search: Callable):
    it = await search(steps=3)
    running = [asyncio.ensure_future(it.finder.perform(work)) for work in it.ordered()]
    it.worker.go.set()
    results = await asyncio.gather(*running)
    assert [result.exhausted is None for result in results] == [True] * 3 + [False] * 5
    assert it.told(WorkFinished) == it.told(WorkStarted) == ["0", "1", "2"]
    await it.finder.close()
    states = list(it.states().values())
    assert (states.count(State.DONE), states.count(State.QUEUED), states.count(State.WORKING)) == (3, 11, 0)


async def test_what_was_interrupted_together_is_queued_again_and_counts_as_no_try(search: Callable):
    it = await search(12)
    with it.finder.ctx.activity.in_progress():
        running = [asyncio.ensure_future(it.finder.perform(work)) for work in it.ordered()]
        while len(it.worker.begun) < 8:
            await asyncio.sleep(0)
        assert not it.finder.skip("3"), "it is in work"
        it.finder.ctx.activity.interrupt("interrupt")
        results = await asyncio.gather(*running)
    assert all(result.interrupted for result in results)
    await it.finder.close()
    queued = it.finder.frontier.page(State.QUEUED)
    assert [(row.key, row.attempts) for row in queued] == [(str(n), 0) for n in range(12)], "they come first again"
    assert it.finder.facts.pass_done == 0


async def test_what_was_interrupted_is_worked_before_what_nobody_had_begun(search: Callable):
    it = await search(20)
    with it.finder.ctx.activity.in_progress():
        running = [asyncio.ensure_future(it.finder.perform(work)) for work in it.ordered()]
        while len(it.worker.begun) < 8:
            await asyncio.sleep(0)
        it.finder.ctx.activity.interrupt("interrupt")
        await asyncio.gather(*running)
    assert [work.about for work in it.ordered()] == [str(n) for n in range(8)]


class Rich(Held):
    async def work(self, item: WorkItem) -> ItemResult:
        return ItemResult(items=[Candidate("value", f"{item.value}.{n}") for n in range(20_000)])


async def test_the_time_in_which_a_flood_of_items_is_booked_counts(search: Callable):
    it = await search(1, worker=Rich())
    (work,) = it.ordered()
    began = time.monotonic()
    await it.finder.perform(work)
    took = time.monotonic() - began
    assert it.finder.ctx.limits.spent().seconds > took / 2


class Failing(Held):
    async def work(self, item: WorkItem) -> ItemResult:
        return ItemResult(error="no", hopeless=item.value == "0")


async def test_skipping_what_failed_permanently_does_not_hide_what_waits_for_a_retry(search: Callable):
    it = await search(2, worker=Failing())
    await asyncio.gather(*(it.finder.perform(work) for work in it.ordered()))
    assert it.states() == {"0": State.SET_ASIDE, "1": State.WAITING}
    assert it.finder.skip("0")
    state = it.finder.state(frozenset(), None)
    assert state.item_in is not None and not state.is_drained
    assert (state.facts.queued, state.facts.set_aside, state.facts.skipped) == (1, 0, 1)
    assert state.gaps() == []


async def test_what_waits_to_be_tried_again_is_counted_once_when_a_person_adds_it(search: Callable):
    it = await search(2, worker=Failing())
    await asyncio.gather(*(it.finder.perform(work) for work in it.ordered()))
    assert handle_search_command(it.finder, AddItem(kind="value", value="1")) is None
    assert it.states()["1"] == State.QUEUED
    assert it.finder.facts.queued == it.finder.frontier.counts().queued == 1
