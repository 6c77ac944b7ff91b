"""Flip and cut the files of real journals: what is damaged is refused, what is accepted is as it was recorded."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from pathlib import Path

import pytest
from fakes.killing.killed_journals import Killed, make_killed

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import RundryError, Stamped, TextArrived
from rundry.agent.run.client.start_request import ResumeChanges
from rundry.agent.run.start.damaged_journal import admit_damage, require_undamaged
from rundry.agent.state.reports.journal_check import check_journal

FLIPS = 90
CUTS = 40


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Killed:
    return make_killed(tmp_path_factory.mktemp("killed"))


def events_of(path: Path) -> list[Stamped]:
    journal = Journal.open(path)
    try:
        return journal.read()
    finally:
        journal.close()


def copied(one: Killed, folder: Path) -> Path:
    """The journal with all that belongs to it, and nobody's hold on it."""
    folder.mkdir(parents=True)
    for name in ("", "-wal", ".tail"):
        shutil.copy(f"{one.journal}{name}", folder / f"a.db{name}")
    return folder / "a.db"


def settled(one: Killed, folder: Path) -> Path:
    """The same with all events in the one file."""
    path = copied(one, folder)
    Journal.open(path).close()
    assert not path.with_name("a.db-wal").exists()
    return path


def admitted(path: Path) -> list[Stamped] | None:
    """The events that a resumed run would use, or None if it was refused with one line."""
    try:
        journal = Journal.open(path)
    except RundryError as error:
        assert "\n" not in str(error)
        return None
    try:
        require_undamaged(journal)
        return journal.read()
    except RundryError as error:
        assert "\n" not in str(error)
        return None
    finally:
        journal.close()


def flip(path: Path, dice: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    path.write_bytes(data)


@pytest.mark.parametrize("end", ["", "-wal"], ids=["file", "log"])
def test_a_flipped_bit_is_never_resumed_silently(one: Killed, tmp_path: Path, end: str):
    make = copied if end else settled
    whole = events_of(make(one, tmp_path / "whole"))
    base = make(one, tmp_path / "base")
    dice, refused = random.Random(7), 0
    for number in range(FLIPS):
        folder = tmp_path / str(number)
        shutil.copytree(base.parent, folder)
        flip(folder / f"a.db{end}", dice)
        found = admitted(folder / "a.db")
        refused += found is None
        assert found is None or found == whole, f"flip {number}"
        shutil.rmtree(folder)
    assert refused > FLIPS / 8


@pytest.mark.parametrize("end", ["", "-wal"], ids=["file", "log"])
def test_a_cut_is_never_resumed_silently(one: Killed, tmp_path: Path, end: str):
    make = copied if end else settled
    base = make(one, tmp_path / "base")
    whole, size = events_of(make(one, tmp_path / "whole")), base.with_name(f"a.db{end}").stat().st_size
    dice = random.Random(3)
    for number, length in enumerate([size - 1, size * 98 // 100, 0, *(dice.randrange(size) for _ in range(CUTS))]):
        folder = tmp_path / str(number)
        shutil.copytree(base.parent, folder)
        os.truncate(folder / f"a.db{end}", length)
        found = admitted(folder / "a.db")
        assert found is None or (end and found == whole), f"cut to {length} of {size}"
        shutil.rmtree(folder)


def test_each_field_of_an_event_is_covered(one: Killed, tmp_path: Path):
    for number, (column, value) in enumerate(
        {"at": "1.5", "step": "77", "work": "'x'", "type": "'said'", "body": "x'7b7d'", "digest": "NULL"}.items()
    ):
        path = settled(one, tmp_path / str(number))
        raw = sqlite3.connect(path)
        raw.execute(f"UPDATE events SET {column} = {value} WHERE seq = 5")
        raw.commit()
        raw.close()
        journal = Journal.open(path)
        with pytest.raises(RundryError, match=r"event 5 \(.*checksum.*rundry check"):
            require_undamaged(journal)
        journal.close()
        assert [finding.event for finding in check_journal(path).findings if finding.part == "event"] == [5]


def test_an_event_that_is_gone_from_the_middle_is_named(one: Killed, tmp_path: Path):
    path = settled(one, tmp_path / "runs")
    raw = sqlite3.connect(path)
    raw.execute("DELETE FROM events WHERE seq = 6")
    raw.commit()
    raw.close()
    journal = Journal.open(path)
    with pytest.raises(RundryError, match="event 6 is missing"):
        require_undamaged(journal)
    journal.close()


def test_a_log_that_lost_its_end_stays_known_after_others_opened_the_journal(one: Killed, tmp_path: Path):
    path = copied(one, tmp_path / "runs")
    whole = len(events_of(copied(one, tmp_path / "whole")))
    os.truncate(path.with_name("a.db-wal"), path.with_name("a.db-wal").stat().st_size // 2)
    kept = len(events_of(path))
    assert 0 < kept < whole
    for _ in range(2):
        journal = Journal.open(path)
        with pytest.raises(RundryError, match=f"{whole - kept} events are missing from the end"):
            require_undamaged(journal)
        journal.close()


@pytest.mark.parametrize("damage", ["flipped", "missing"])
def test_without_the_record_of_the_end_a_new_limit_is_needed(one: Killed, tmp_path: Path, damage: str):
    path = copied(one, tmp_path / "runs")
    record = path.with_name("a.db.tail")
    if damage == "missing":
        record.unlink()
    else:
        flip(record, random.Random(1))
    journal = Journal.open(path)
    with pytest.raises(RundryError, match=r"record of the newest event.*--damaged"):
        require_undamaged(journal)
    with pytest.raises(RundryError, match="Give a new limit"):
        admit_damage(journal, ResumeChanges(damaged=True))
    assert admit_damage(journal, ResumeChanges(damaged=True, limits={"tokens": 100_000}))
    journal.close()


def test_a_journal_of_an_earlier_version_opens_and_its_checksums_start_with_the_next_event(one: Killed, tmp_path: Path):
    path = settled(one, tmp_path / "runs")
    path.with_name("a.db.tail").unlink()
    raw = sqlite3.connect(path)
    raw.execute("ALTER TABLE events DROP COLUMN digest")
    raw.commit()
    raw.close()
    before = admitted(path)
    assert before
    journal = Journal.open(path)
    journal.append(TextArrived(text="the next one"))
    journal.append(TextArrived(text="and another"))
    journal.close()
    after = admitted(path)
    assert after is not None and after[: len(before)] == before and len(after) == len(before) + 2
    raw = sqlite3.connect(path)
    changed = "CAST(replace(CAST(body AS TEXT), 'next', 'text') AS BLOB)"
    raw.execute(f"UPDATE events SET body = {changed} WHERE seq = ?", (len(before) + 1,))
    raw.commit()
    raw.close()
    assert admitted(path) is None


def test_a_transaction_that_was_rolled_back_leaves_the_chain_whole(tmp_path: Path):
    from fakes.in_process.journals import make_journal

    journal = make_journal(tmp_path / "a.db")
    journal.append(TextArrived(text="one"))
    with journal.transaction():
        journal.append(TextArrived(text="two"))
        with pytest.raises(KeyError), journal.transaction():
            journal.append(TextArrived(text="never"))
            journal.read()
            raise KeyError
    with pytest.raises(KeyError), journal.transaction():
        journal.append(TextArrived(text="never"))
        raise KeyError
    other = Journal.open(journal.path)
    other.append(TextArrived(text="three"))
    other.close()
    journal.append(TextArrived(text="four"))
    require_undamaged(journal)
    assert [stamped.event.text for stamped in journal.read()] == ["one", "two", "three", "four"]
    journal.close()
