"""The frontier: what was seen stays seen, each item is in one state, and a kill changes neither."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from fakes.played_events import spec
from fakes.recorded_events import RecordedEvents
from msgspec.structs import replace
from search.finder.frontier_values import ROOT, values

from rundry.agent.protocol import FinderSpec, ItemQueued, Seed
from rundry.agent.search.items.frontier import Frontier
from rundry.agent.search.items.item_intake import ItemIntake
from rundry.agent.search.items.item_keys import file_of
from rundry.agent.search.items.item_state import Candidate, Counts, State
from rundry.agent.state.facts.run_facts import RunFacts
from rundry.agent.state.search.finding_facts import backoff

if TYPE_CHECKING:
    from rundry.agent.step.resources.run_context import RunContext


def test_two_spellings_in_one_call_are_one_new_and_one_known_item(frontier: Frontier):
    told = [Candidate("url", "http://h.example/#top"), Candidate("url", "HTTP://H.example:80/")]
    surfaced = frontier.surface(told, "seed", ROOT)
    assert [item.key for item in surfaced.new] == ["http://h.example/"]
    assert surfaced.known == [("http://h.example/", "HTTP://H.example:80/")]
    again = frontier.surface([Seed(kind="url", value="http://h.example")], "person", ROOT)
    assert (again.new, again.known) == ([], [("http://h.example/", "http://h.example")])
    assert [item.value for item in frontier.ready(5, 0)] == ["http://h.example/#top"]
    assert frontier.counts() == Counts(queued=1)


def test_what_was_worked_skipped_or_failed_permanently_is_still_seen(frontier: Frontier):
    frontier.surface(values("done", "bad", "unwanted"), "seed", ROOT)
    assert frontier.take(["done", "bad"]) == ["done", "bad"]
    assert frontier.finish("done")
    assert frontier.set_aside("bad", "500", 4)
    assert frontier.skip("unwanted")
    surfaced = frontier.surface(values("bad", "done", "unwanted"), "elsewhere", ROOT)
    assert (surfaced.new, len(surfaced.known)) == ([], 3)
    assert frontier.ready(5, 0) == []
    assert frontier.set_aside_keys() == ["bad"]
    assert frontier.counts() == Counts(done=1, set_aside=1, skipped=1)


def test_a_finding_and_an_item_of_the_same_text_are_two_keys(frontier: Frontier):
    assert frontier.note_finding("x")
    assert not frontier.note_finding("x")
    assert frontier.find("x") is None
    assert [item.key for item in frontier.surface(values("x"), "lens", ROOT).new] == ["x"]
    assert not frontier.note_finding("x")
    frontier.take(["x"])
    assert frontier.finish("x")
    assert not frontier.note_finding("x")
    assert frontier.counts() == Counts(done=1, findings=1)
    assert frontier.counts().seen == 1


def test_what_failed_waits_for_its_time_and_then_goes_before_the_queue(frontier: Frontier):
    frontier.surface(values("a", "b", "c"), "seed", ROOT)
    frontier.take(["a", "b"])
    assert frontier.retry("a", "429", due=20.0, attempts=1)
    assert frontier.retry("b", "500", due=10.0, attempts=2)
    assert [item.key for item in frontier.ready(9, 5)] == ["c"]
    assert frontier.next_due(5) == 10.0
    assert [(item.key, item.attempts, item.due) for item in frontier.ready(2, 15)] == [("b", 2, 10.0), ("c", 0, None)]
    assert frontier.next_due(15) == 20.0
    assert [item.key for item in frontier.ready(9, 20)] == ["b", "a", "c"]
    assert frontier.next_due(20) is None
    assert frontier.counts() == Counts(queued=3, waiting=2)
    row = frontier.find("b")
    assert row is not None
    assert (row.state, row.error, row.due) == (State.WAITING, "500", 10.0)


@pytest.mark.parametrize(("wait", "pause"), [(None, backoff(5)), (0.5, backoff(5)), (300.0, 300.0)])
def test_a_server_makes_the_pause_after_a_failure_longer_and_never_shorter(
    frontier: Frontier, wait: float | None, pause: float
):
    frontier.surface(values("a"), "seed", ROOT)
    (item,) = frontier.check_out(1, 0.0)
    events = RecordedEvents()
    context = SimpleNamespace(
        clock=SimpleNamespace(now=lambda: 1_000.0),
        journal=SimpleNamespace(rollbacks=0),
        facts=RunFacts(spec(finder=FinderSpec())),
    )
    intake = ItemIntake(cast("RunContext", context), frontier, ROOT)
    intake.record_failure(replace(item, attempts=4), "429", events, final=False, wait=wait)
    assert [event.due for event in events if isinstance(event, ItemQueued)] == [1_000.0 + pause]
    assert frontier.next_due(0.0) == 1_000.0 + pause


def test_what_a_dead_runner_had_in_work_stands_before_the_queue_again(frontier: Frontier):
    frontier.surface(values("a", "b", "c", "d"), "seed", ROOT)
    frontier.take(["a", "b", "c"])
    frontier.retry("b", "500", due=0.0, attempts=1)
    frontier.take(["b"])
    frontier.finish("a")
    assert [item.key for item in frontier.roll_back()] == ["b", "c"]
    assert frontier.roll_back() == []
    assert [(item.key, item.attempts) for item in frontier.ready(9, 0)] == [("b", 1), ("c", 0), ("d", 0)]
    frontier.take(["c", "d"])
    assert [item.key for item in frontier.roll_back(["d", "b"])] == ["d"]
    assert [item.key for item in frontier.ready(9, 0)] == ["d", "b"]
    assert frontier.counts() == Counts(queued=2, working=1, done=1)


def test_a_change_that_was_made_already_changes_nothing(frontier: Frontier):
    frontier.surface(values("a", "b"), "seed", ROOT)
    assert not frontier.finish("a")
    assert frontier.take(["a", "a", "b", "missing"]) == ["a", "b"]
    assert frontier.finish("a")
    assert not frontier.finish("a")
    assert not frontier.retry("a", "late", due=1.0, attempts=1)
    assert not frontier.skip("a")
    assert frontier.skip("b")
    assert not frontier.skip("b")
    assert not frontier.finish("b")
    assert not frontier.set_aside("b", "late", 4)
    assert frontier.counts() == Counts(done=1, skipped=1)


def test_what_regressed_or_a_person_wants_again_goes_to_the_end_of_the_queue(frontier: Frontier):
    frontier.surface(values("a", "b", "c"), "seed", ROOT)
    assert not frontier.requeue("b", "person")
    frontier.take(["a", "b"])
    assert not frontier.requeue("a", "person")
    frontier.finish("a")
    frontier.retry("b", "500", due=1e9, attempts=1)
    assert frontier.requeue("a", "scan", attempts=1)
    assert frontier.requeue("b", "person")
    assert not frontier.requeue("missing", "person")
    found = [(item.key, item.source, item.attempts) for item in frontier.ready(9, 0)]
    assert found == [("c", "seed", 0), ("a", "scan", 1), ("b", "person", 1)]
    assert frontier.counts() == Counts(queued=3)


def test_a_page_continues_behind_the_row_before_it(frontier: Frontier):
    frontier.surface(values(*(str(n) for n in range(25))), "seed", ROOT)
    frontier.take(["3", "4"])
    frontier.roll_back()
    shown: list[str] = []
    after = 0
    while rows := frontier.page(State.QUEUED, after=after, limit=10):
        shown += [row.key for row in rows]
        after = rows[-1].number
    assert shown == ["3", "4", *(str(n) for n in range(25) if n not in (3, 4))]
    assert frontier.page(State.DONE) == []


def test_names_that_are_not_text_and_items_of_a_megabyte_come_back_as_they_were(frontier: Frontier, tmp_path: Path):
    name = os.fsdecode(b"bad\xff.txt")
    (tmp_path / name).write_text("here")
    huge = "é" * 1_000_000
    odd = [Candidate("file", name), Candidate("value", huge), Candidate("value", "a\0b"), Candidate("url", "\ud800")]
    assert len(frontier.surface(odd, "lens \ud800", tmp_path).new) == 4
    ready = frontier.ready(9, 0)
    assert [item.value for item in ready] == [one.value for one in odd]
    assert file_of(ready[0].key).read_text() == "here"
    assert frontier.take([item.key for item in ready]) == [item.key for item in ready]
    for item in ready:
        assert frontier.retry(item.key, "said \udcff", due=1.0, attempts=1)
        row = frontier.find(item.key)
        assert row is not None
        assert (row.value, row.error) == (item.value, r"said \udcff")


def test_a_kind_that_nobody_knows_leaves_nothing(frontier: Frontier):
    with pytest.raises(AssertionError, match="page"):
        frontier.surface([Candidate("value", "a"), Candidate("page", "b")], "lens", ROOT)
    assert frontier.counts().seen == 0
