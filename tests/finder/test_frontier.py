"""The frontier: what was seen stays seen, each item is in one state, and a kill changes neither."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from rundry.agent.finder import CHUNK, Candidate, Counts, Frontier, FrontierView, State, file_of, in_chunks
from rundry.agent.journal import Journal
from rundry.agent.protocol import ItemQueued, JournalError, Seed

ROOT = Path("/nowhere")


def values(*names: str) -> list[Candidate]:
    return [Candidate("value", name) for name in names]


@pytest.fixture
def frontier(journal: Journal) -> Frontier:
    return Frontier(journal)


def test_two_spellings_in_one_call_are_one_new_and_one_known_item(frontier: Frontier):
    told = [Candidate("url", "http://h.example/#top"), Candidate("url", "HTTP://H.example:80/")]
    surfaced = frontier.surface(told, "seed", ROOT)
    assert [item.key for item in surfaced.new] == ["http://h.example/"]
    assert surfaced.known == [("http://h.example/", "HTTP://H.example:80/")]
    again = frontier.surface([Seed(kind="url", value="http://h.example")], "person", ROOT)
    assert (again.new, again.known) == ([], [("http://h.example/", "http://h.example")])
    assert [item.value for item in frontier.ready(5, 0)] == ["http://h.example/#top"]
    assert frontier.counts() == Counts(queued=1)


def test_what_was_worked_skipped_or_set_aside_is_still_seen(frontier: Frontier):
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


def test_a_page_goes_on_behind_the_row_before_it(frontier: Frontier):
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


def test_names_that_are_no_text_and_items_of_a_megabyte_come_back_as_they_were(frontier: Frontier, tmp_path: Path):
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
    with pytest.raises(ValueError, match="page"):
        frontier.surface([Candidate("value", "a"), Candidate("page", "b")], "lens", ROOT)
    assert frontier.counts().seen == 0


def test_what_a_transaction_wrote_that_failed_never_was(journal: Journal):
    frontier = Frontier(journal)
    with pytest.raises(ZeroDivisionError), journal.transaction():
        frontier.surface(values("a"), "seed", ROOT)
        frontier.note_finding("f")
        raise ZeroDivisionError
    assert frontier.counts() == Counts()
    assert frontier.note_finding("f")
    assert len(frontier.surface(values("a"), "seed", ROOT).new) == 1


def test_what_was_seen_in_a_transaction_that_failed_is_new_afterwards(journal: Journal):
    frontier = Frontier(journal)
    frontier.surface(values("kept"), "seed", ROOT)
    with pytest.raises(RuntimeError), journal.transaction():
        frontier.surface(values("lost"), "seed", ROOT)
        assert frontier.surface(values("lost", "kept"), "again", ROOT).new == []
        raise RuntimeError
    surfaced = frontier.surface(values("lost", "kept"), "later", ROOT)
    assert [item.key for item in surfaced.new] == ["lost"]
    assert frontier.counts() == Counts(queued=2)


def test_of_several_sources_at_once_the_first_is_the_one_that_found_it(frontier: Frontier):
    frontier.surface(values("old"), "seed", ROOT)
    first, second = frontier.surface_all([(values("a", "b"), "one"), (values("b", "old", "c"), "two")], ROOT)
    assert [(item.key, item.source) for item in first.new + second.new] == [("a", "one"), ("b", "one"), ("c", "two")]
    assert (first.known, second.known) == ([], [("b", "b"), ("old", "old")])
    assert [item.key for item in frontier.ready(9, 0)] == ["old", "a", "b", "c"]


def test_what_is_finished_at_once_is_counted_once(frontier: Frontier):
    frontier.surface(values("a", "b", "c"), "seed", ROOT)
    frontier.take(["a", "b"])
    assert frontier.finish_all(["a", "b", "c", "nowhere"]) == 2
    assert frontier.finish_all(["a"]) == 0
    assert frontier.counts() == Counts(done=2, queued=1)


def test_a_journal_without_a_frontier_reads_as_an_empty_one_and_stays_as_it_is(journal: Journal):
    view = FrontierView(journal)
    assert (view.counts(), view.counts().seen) == (Counts(), 0)
    assert (view.ready(5, 0), view.next_due(0), view.page(State.DONE), view.set_aside_keys()) == ([], None, [], [])
    assert view.find("x") is None
    assert journal.rows("SELECT name FROM sqlite_schema WHERE name LIKE 'frontier%'") == []


def test_a_million_candidates_come_in_chunks_that_nobody_has_to_hold():
    given = (Candidate("value", str(n)) for n in range(1_000_000))
    assert len(next(in_chunks(given))) == CHUNK
    assert next(given).value == str(CHUNK)
    assert [len(chunk) for chunk in in_chunks(values("a", "b", "c"), 2)] == [2, 1]
    assert list(in_chunks([])) == []


WRITER = """
import sys
from pathlib import Path
from rundry.agent.finder import Candidate, Frontier
from rundry.agent.journal import Journal
from rundry.agent.protocol import ItemDuplicate, ItemQueued
journal = Journal.open(Path(sys.argv[1]))
frontier, root = Frontier(journal), Path("/nowhere")
def surface(source, first):
    surfaced = frontier.surface([Candidate("value", str(n)) for n in range(first, first + 30)], source, root)
    for item in surfaced.new:
        journal.append(ItemQueued(key=item.key, kind=item.kind, value=item.value, source=source, reason="new"))
    for key, value in surfaced.known:
        journal.append(ItemDuplicate(key=key, source=source, value=value))
surface("seed", 0)
while True:
    with journal.transaction():
        (item,) = frontier.ready(1, 0)
        frontier.take([item.key])
    with journal.transaction():
        surface(item.key, int(item.key) * 20)
        frontier.finish(item.key)
    print(item.key, flush=True)
"""


@pytest.mark.parametrize("acknowledged", [1, 30, 150])
def test_a_kill_loses_no_key_and_leaves_no_item_in_two_states(journal: Journal, acknowledged: int):
    view = FrontierView(journal)
    writer = subprocess.Popen([sys.executable, "-P", "-c", WRITER, journal.path], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    done: list[str] = []
    seen = 0
    for line in writer.stdout:
        done.append(line.strip())
        row = view.find(done[-1])
        assert row is not None, "a view sees what was committed while the runner goes on"
        assert row.state is State.DONE
        before, seen = seen, view.counts().seen
        assert seen >= before
        assert len(view.page(State.QUEUED, limit=10)) == 10
        if len(done) == acknowledged:
            writer.kill()
            break
    writer.wait(30)
    writer.stdout.close()
    frontier = Frontier(journal)
    assert counted(journal) == frontier.counts()
    in_work = frontier.page(State.WORKING)
    assert [item.key for item in frontier.roll_back()] == [row.key for row in in_work]
    assert len(in_work) <= 1
    assert [row.key for row in frontier.page(State.DONE, limit=10_000)][: len(done)] == done
    events = [stamped.event for stamped in journal.read()]
    queued = [event.key for event in events if isinstance(event, ItemQueued)]
    assert len(set(queued)) == len(queued) == frontier.counts().seen
    assert all(frontier.find(key) is not None for key in queued)
    assert {str(n) for key in done for n in range(int(key) * 20, int(key) * 20 + 30)} <= set(queued)


def counted(journal: Journal) -> Counts:
    """What the counts would be if they were counted anew; no key is there twice."""
    raw = sqlite3.connect(journal.path)
    assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    states = dict(raw.execute("SELECT state, count(*) FROM frontier GROUP BY state").fetchall())
    assert raw.execute("SELECT count(*) - count(DISTINCT key) FROM frontier WHERE state != 'finding'").fetchone() == (
        0,
    )
    raw.close()
    waiting = states.get("waiting", 0)
    return Counts(
        queued=states.get("queued", 0) + waiting,
        waiting=waiting,
        working=states.get("working", 0),
        done=states.get("done", 0),
        set_aside=states.get("set_aside", 0),
        skipped=states.get("skipped", 0),
        findings=states.get("finding", 0),
    )


def test_a_full_disk_is_one_clear_line_and_leaves_whole_chunks(journal: Journal):
    frontier = Frontier(journal)
    frontier.surface(values("a"), "seed", ROOT)
    journal.rows("PRAGMA max_page_count = 40")
    with pytest.raises(JournalError, match="disk is full"):
        for chunk in in_chunks(values(*(f"{n:0100}" for n in range(4_000)))):
            frontier.surface(chunk, "seed", ROOT)
    assert frontier.counts() == counted(journal)
