"""Journals of gigabytes: what a resume reads of them is bounded, in small batches, and a person sees how far it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.played_events import spec, started

from rundry.agent import Journal
from rundry.agent.journal.integrity.damage import QUICK_CHECK_BYTES, damage_of
from rundry.agent.journal.journal import READ_BYTES
from rundry.agent.protocol import TextArrived, ToolFinished, UserError
from rundry.agent.run.client.start_request import ResumeChanges
from rundry.agent.run.start.damaged_journal import admit_damage
from rundry.agent.state.facts.checkpoint import checkpoint_seq, facts_of
from rundry.agent.state.facts.run_facts import RunFacts
from rundry.agent.state.view.reading_progress import report_reading_progress
from rundry.agent.state.view.view_keeper import ViewKeeper

LARGE = "word " * 40_000
_DAMAGE = "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), 'old', 'new') AS BLOB) WHERE seq = ?"


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal.create(tmp_path / "r1.db", spec())
    journal.append(started())
    yield journal
    journal.close()


def result(text: str) -> ToolFinished:
    return ToolFinished(call_id="c", tool="read_file", ok=True, result=text)


def record(journal: Journal, facts: RunFacts, count: int, text: str) -> None:
    """As a runner does."""
    take = ViewKeeper(journal, facts).listener(lambda stamped: None)
    for _ in range(count // 1_000):
        for stamped in journal.append_all([(result(text), None, None)] * 1_000):
            facts.apply(stamped)
            take(stamped)


def test_large_events_are_read_in_batches_of_few_and_none_is_left_out(journal: Journal):
    journal.append_all([(result(LARGE), None, None)] * 300)
    after, batches = 0, list[int]()
    while events := journal.read(after, 10_000):
        batches.append(len(events))
        after = events[-1].seq
    assert sum(batches) == journal.last_seq() == 301
    assert max(batches) * len(LARGE) < 2 * READ_BYTES
    assert not damage_of(journal)


@pytest.mark.long
def test_a_large_journal_is_verified_from_its_newest_checkpoint_on(journal: Journal):
    facts = facts_of(journal)
    record(journal, facts, 3_000, "old")
    journal.blobs.keep(bytes(QUICK_CHECK_BYTES + 1))
    after = checkpoint_seq(journal)
    assert 2_000 <= after < 2_900
    journal.close()
    for seq, is_found in ((after - 100, False), (after + 100, True)):
        with sqlite3.connect(journal.path) as connection:
            connection.execute(_DAMAGE, [seq])
        connection.close()
        reopened = Journal.open(journal.path)
        assert [link.seq for link in damage_of(reopened).broken][-1] == seq
        if is_found:
            with pytest.raises(UserError, match=f"event {seq}"):
                admit_damage(reopened, ResumeChanges())
        else:
            assert not admit_damage(reopened, ResumeChanges())
        reopened.close()


def test_a_person_reads_each_second_how_much_was_read_and_nothing_if_it_takes_less(journal: Journal):
    journal.append_all([(TextArrived(text="x"), None, None)] * 999)
    now, lines = [0.0], list[str]()
    report_reading_progress(journal, lines.append, lambda: now[0])
    for after, second in ((0, 0.5), (250, 0.9), (400, 1.5), (450, 1.6), (500, 2.6)):
        now[0] = second
        journal.read(after, 100)
    assert lines == ["reading the journal: 50 %", "reading the journal: 60 %"]
    now[0] = 4.0
    assert not damage_of(journal)
    assert lines[2].startswith("checking the journal: ")
