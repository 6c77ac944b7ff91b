"""What other sessions wrote into the folder of a run, as their journals say it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rundry.agent.journal.journal import Journal
from rundry.agent.journal.other_sessions import MOST, OtherSessions
from rundry.agent.journal.redact import Redactor
from rundry.agent.protocol import FileChanged, ParentRef

from .conftest import a_spec

OWN, OTHER = "20261121-014233-k3f9x", "20261121-014234-aaaaa"


class Folder:
    """A folder of journals, and what the run `OWN` knows of the others."""

    def __init__(self, runs: Path, stack: ExitStack) -> None:
        self.runs, self._stack = runs, stack
        self.others = OtherSessions(a_spec(OWN), runs / f"{OWN}.db", time.time())

    def session(self, run_id: str = OTHER, **more: object) -> Journal:
        made = Journal.create(self.runs / f"{run_id}.db", a_spec(run_id, **more))
        made.redactor = Redactor([])
        self._stack.callback(made.close)
        return made

    def written(self) -> dict[str, tuple[str, str | None]]:
        return {path: (one.run_id, one.digest) for path, one in self.others.written().items()}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    runs = tmp_path / "runs"
    runs.mkdir(mode=0o700)
    with ExitStack() as stack:
        yield Folder(runs, stack)


def change(path: str, after: str | None, *, staged: bool = False) -> FileChanged:
    return FileChanged(path=path, by="model", before=None, after=after, staged=staged)


def test_the_newest_content_of_each_file_counts_and_a_later_event_is_read_too(folder: Folder):
    other = folder.session()
    assert folder.written() == {}
    other.append(change("a.txt", "1"))
    other.append(change("b.txt", "1"))
    assert folder.written() == {"a.txt": (OTHER, "1"), "b.txt": (OTHER, "1")}
    other.append(change("a.txt", "2"))
    other.append(change("b.txt", None))
    assert folder.written() == {"a.txt": (OTHER, "2"), "b.txt": (OTHER, None)}
    third = folder.session("20261121-014235-bbbbb")
    third.append(change("a.txt", "3"))
    assert folder.others.writer("a.txt", "3") == "20261121-014235-bbbbb"
    assert folder.others.writer("a.txt", "2") == "", "somebody wrote something else since"


def test_a_folder_above_or_below_counts_with_its_path_here_and_one_next_to_it_does_not(folder: Folder):
    folder.session(OTHER, workspace="/work/sub").append(change("a.txt", "1"))
    above = folder.session("20261121-014235-bbbbb", workspace="/")
    above.append(change("work/b.txt", "2"))
    above.append(change("elsewhere.txt", "2"))
    folder.session("20261121-014236-ccccc", workspace="/works").append(change("c.txt", "3"))
    assert folder.written() == {"sub/a.txt": (OTHER, "1"), "b.txt": ("20261121-014235-bbbbb", "2")}


def test_a_stage_and_child_runs_and_what_was_written_before_do_not_count(folder: Folder):
    folder.session().append(change("a.txt", "1", staged=True))
    parent = ParentRef(run_id=OWN, journal=str(folder.runs / f"{OWN}.db"), number=1)
    folder.session("20261121-014235-bbbbb", parent=parent).append(change("b.txt", "1"))
    assert folder.written() == {}
    folder.session("20261121-014236-ccccc").append(change("c.txt", "1"))
    later = OtherSessions(a_spec(OWN), folder.runs / f"{OWN}.db", time.time() + 1)
    assert later.written() == {}


def test_a_journal_that_cannot_be_read_is_skipped_and_of_many_the_newest_are_read(folder: Folder):
    began_first = folder.session("20261121-000000-aaaaa")
    for number in range(MOST + 1):
        folder.session(f"20261121-01{number:04}-aaaaa").append(change(f"{number}.txt", "1"))
        at = time.time() - 100 + number
        for name in (f"20261121-01{number:04}-aaaaa.db", f"20261121-01{number:04}-aaaaa.db-wal"):
            os.utime(folder.runs / name, (at, at))
    began_first.append(change("first.txt", "1"))
    (folder.runs / "20261121-014299-zzzzz.db").write_bytes(b"not a journal")
    earlier = OtherSessions(a_spec(OWN), folder.runs / f"{OWN}.db", time.time() - 200)
    assert set(earlier.written()) == {"first.txt", *(f"{number}.txt" for number in range(3, MOST + 1))}


def test_a_session_that_closes_its_journal_meanwhile_is_skipped_once(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    def closed_meanwhile(path: Path) -> Journal:
        raise FileNotFoundError(f"{path}-wal")

    folder.session().append(change("a.txt", "1"))
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "open_for_reading", closed_meanwhile)
        assert folder.written() == {}
    assert folder.written() == {"a.txt": (OTHER, "1")}
