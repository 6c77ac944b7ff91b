from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rundry.agent.journal.integrity.damage import damage_of
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Say, StepFinished, TextArrived

WRITER = """
import sys
from pathlib import Path
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import TextArrived
journal = Journal.open(Path(sys.argv[1]))
while True:
    seq = journal.append(TextArrived(text="x" * 300), step=1, durable=len(sys.argv) > 2).seq
    print(seq, flush=True)
"""
IN_TRANSACTION = """
import sys
from pathlib import Path
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import StepFinished, TextArrived
journal = Journal.open(Path(sys.argv[1]))
with journal.transaction():
    journal.append(TextArrived(text="half"))
    journal.append(StepFinished(number=1), durable=True)
    print("in", flush=True)
    sys.stdin.readline()
"""
FOLLOWED = """
import sys
from pathlib import Path
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import TextArrived
journal = Journal.open(Path(sys.argv[1]))
for line in sys.stdin:
    journal.append(TextArrived(text=line.strip()))
    print("said", flush=True)
journal.close()
"""


def is_whole(path: Path) -> bool:
    raw = sqlite3.connect(path)
    answer = raw.execute("PRAGMA integrity_check").fetchone()
    raw.close()
    return answer == ("ok",)


@pytest.mark.parametrize("acknowledged", [1, 40, 900])
def test_a_killed_writer_loses_nothing_that_was_acknowledged(
    journal: Journal, child: Callable[..., object], acknowledged: int
) -> None:
    path = journal.path
    journal.close()
    writer = child(WRITER, path)
    seen = [int(writer.hear()) for _ in range(acknowledged)]
    writer.kill()
    assert is_whole(path)
    again = Journal.open(path)
    kept = [s.seq for s in again.read()]
    assert kept[: len(seen)] == seen
    assert kept == list(range(1, len(kept) + 1))
    assert all(s.event == TextArrived(text="x" * 300) for s in again.read())
    assert again.append(TextArrived(text="goes on")).seq == len(kept) + 1
    again.close()


def test_a_durable_event_is_there_after_a_kill(journal: Journal, child: Callable[..., object]) -> None:
    writer = child(WRITER, journal.path, "durable")
    seen = [int(writer.hear()) for _ in range(20)]
    writer.kill()
    assert [s.seq for s in journal.read()][:20] == seen


def test_a_transaction_whose_writer_was_killed_never_happened(journal: Journal, child: Callable[..., object]) -> None:
    writer = child(IN_TRANSACTION, journal.path)
    assert writer.hear() == "in"
    writer.kill()
    assert journal.read() == []
    assert journal.append(StepFinished(number=1)).seq == 1


def test_a_killed_writer_does_not_block_the_next_one(journal: Journal, child: Callable[..., object]) -> None:
    writer = child(IN_TRANSACTION, journal.path)
    assert writer.hear() == "in"
    writer.kill()
    began = time.monotonic()
    journal.inbox.put(Say(text="now me"))
    assert time.monotonic() - began < 1.0


def test_a_view_in_another_process_follows_what_is_appended(journal: Journal, child: Callable[..., object]) -> None:
    writer = child(FOLLOWED, journal.path)
    journal.changed()
    after, heard = 0, []
    for number in range(20):
        writer.tell(f"line {number}")
        assert writer.hear() == "said"
        assert journal.changed()
        news = journal.read(after)
        after = news[-1].seq
        heard += [s.event for s in news]
        assert not journal.changed()
    assert heard == [TextArrived(text=f"line {n}") for n in range(20)]
    assert writer.end() == 0


def test_a_copy_without_the_log_next_to_it_opens_to_read_and_is_known_to_be_incomplete(
    journal: Journal, child: Callable[..., object], tmp_path: Path
) -> None:
    writer = child(FOLLOWED, journal.path)
    writer.tell("newest")
    writer.hear()
    torn = tmp_path / "torn.db"
    torn.write_bytes(journal.path.read_bytes())  # ours is open, but no lock of it is needed any more
    cut = Journal.open(torn)
    assert cut.read() == [] and not damage_of(cut), "nothing is in it, and no record names more"
    shutil.copy(journal.path.with_name(journal.path.name + ".tail"), tmp_path / "torn.db.tail")
    assert damage_of(cut).end == ["1 event is missing from the end"]
    cut.close()
    whole = tmp_path / "whole.db"
    whole.write_bytes(journal.path.read_bytes())
    whole.with_name("whole.db-wal").write_bytes(journal.path.with_name(journal.path.name + "-wal").read_bytes())
    copied = Journal.open(whole)
    assert [s.event for s in copied.read()] == [TextArrived(text="newest")]
    copied.close()
    writer.kill()
    journal.close()
    alone = tmp_path / "alone.db"
    alone.write_bytes(journal.path.read_bytes())
    ended = Journal.open(alone)
    assert [s.event for s in ended.read()] == [TextArrived(text="newest")]
    ended.close()
