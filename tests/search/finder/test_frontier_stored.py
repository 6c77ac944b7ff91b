"""What the frontier keeps of a transaction that failed, a kill and a full disk."""

from __future__ import annotations

import sqlite3
import subprocess
import sys

import pytest
from search.finder.frontier_values import ROOT, values

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import ItemQueued, JournalError
from rundry.agent.search.items.frontier import CHUNK, Frontier, in_chunks
from rundry.agent.search.items.frontier_view import FrontierView
from rundry.agent.search.items.item_state import Candidate, Counts, State


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


def test_what_is_finished_immediately_is_counted_once(frontier: Frontier):
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
from rundry.agent.search.items.item_state import Candidate
from rundry.agent.search.items.frontier import Frontier
from rundry.agent.journal.journal import Journal
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
    """Count the rows again, and check that each key occurs once."""
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
