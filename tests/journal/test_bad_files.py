from __future__ import annotations

import json
import os
import random
import resource
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rundry.agent.journal.database import enable_wal
from rundry.agent.journal.integrity.checksums import META_DIGEST, meta_digest
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import JournalError, RunSpec, TextArrived, to_json_line


def filled(path: Path, spec: RunSpec, events: int = 200) -> bytes:
    journal = Journal.create(path, spec)
    for number in range(events):
        journal.append(TextArrived(text=f"{number} " + "x" * 500))
    journal.close()
    return path.read_bytes()


def one_line(error: pytest.ExceptionInfo[JournalError]) -> str:
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_missing_journal_is_named(tmp_path: Path) -> None:
    with pytest.raises(JournalError) as error:
        Journal.open(tmp_path / "gone.db")
    assert "no journal at" in one_line(error) and "gone.db" in str(error.value) and "rundry runs" in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"hello, I am a text\n" * 500, "is not a journal"),
        (b"SQLite format 3\0", "is not a journal"),
    ],
    ids=["zero bytes", "text", "half a header"],
)
def test_a_file_that_is_not_a_journal_is_refused_and_left_alone(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(content)
    with pytest.raises(JournalError) as error:
        Journal.open(path)
    assert says in one_line(error)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_not_a_journal(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="is not a file"):
        Journal.open(tmp_path)


def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE events(seq)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(JournalError, match="another program's database"):
        Journal.open(path)
    assert path.read_bytes() == before


def test_a_journal_of_a_newer_version_is_refused_and_left_alone(
    tmp_path: Path, make_spec: Callable[..., RunSpec]
) -> None:
    path = tmp_path / "a.db"
    filled(path, make_spec(), 1)
    raw = sqlite3.connect(path)
    raw.execute("PRAGMA user_version = 99")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(JournalError, match=r"newer rundry .*format 99.* update"):
        Journal.open(path)
    assert path.read_bytes() == before


def test_a_journal_without_a_run_in_it_is_refused(tmp_path: Path, make_spec: Callable[..., RunSpec]) -> None:
    path = tmp_path / "a.db"
    filled(path, make_spec(), 0)
    raw = sqlite3.connect(path)
    raw.execute("DELETE FROM meta WHERE key = 'spec'")
    raw.commit()
    with pytest.raises(JournalError, match="its run never started"):
        Journal.open(path)
    raw.execute("INSERT INTO meta VALUES ('spec', '{\"loop\": \"levitate\"}')")
    raw.commit()
    with pytest.raises(JournalError, match=r"is damaged \(the run's spec\)"):
        Journal.open(path)
    rows = raw.execute("SELECT key, value FROM meta").fetchall()
    raw.execute("UPDATE meta SET value = ? WHERE key = ?", (meta_digest(rows), META_DIGEST))
    raw.commit()
    raw.close()
    with pytest.raises(JournalError, match=r"cannot read .*update rundry"):
        Journal.open(path)


def test_random_damage_never_gives_more_than_one_clear_line(tmp_path: Path, make_spec: Callable[..., RunSpec]) -> None:
    whole = filled(tmp_path / "whole.db", make_spec())
    refused = 0
    for seed in range(60):
        dice = random.Random(seed)
        data = bytearray(whole)
        if seed % 3 == 0:
            del data[dice.randrange(1, len(data)) :]
        else:
            for _ in range(seed % 7 * 40 + 1):
                data[dice.randrange(len(data))] = dice.randrange(256)
        path = tmp_path / f"{seed}.db"
        path.write_bytes(data)
        try:
            journal = Journal.open(path)
        except JournalError as error:
            refused += 1
            assert "\n" not in str(error) and path.name in str(error)
            assert "update rundry" not in str(error) and "another program" not in str(error)
            assert path.read_bytes() == bytes(data)
            continue
        try:
            assert all(json.loads(to_json_line(stamped)) for stamped in journal.read())
            journal.landmarks()
        except JournalError as error:
            refused += 1
            assert "\n" not in str(error) and "is damaged" in str(error)
        journal.close()
    assert refused > 20


def test_a_folder_without_a_working_log_is_refused_and_names_the_fix(tmp_path: Path) -> None:
    without = sqlite3.connect(f"file:{tmp_path / 'a.db'}?vfs=unix-dotfile", uri=True, isolation_level=None)
    with pytest.raises(JournalError, match=r"does not work in .* --runs-dir"):
        enable_wal(without, tmp_path)
    without.close()


UNTIL_FULL = """
import resource, sys
from pathlib import Path
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import JournalError, TextArrived
journal = Journal.open(Path(sys.argv[1]))
if int(sys.argv[2]):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    while True:
        with journal.transaction():
            journal.append(TextArrived(text="x" * 2000))
            seq = journal.append(TextArrived(text="y" * 2000)).seq
        print(seq, flush=True)
except JournalError as error:
    print(error, flush=True)
try:
    journal.blobs.keep(b"z" * 500_000)
    print("kept?", flush=True)
except JournalError as error:
    print(error, flush=True)
print(journal.last_seq(), flush=True)
if int(sys.argv[2]):
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
else:
    Path(sys.argv[3]).unlink()
print(journal.append(TextArrived(text="goes on")).seq, flush=True)
journal.close()
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """A folder with little room, and the limit on a file's size that stands in for it where mounting is not allowed."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    yield folder, 0 if mounted.returncode == 0 else 300_000
    if mounted.returncode == 0:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("on_a_disk", [True, False], ids=["full disk", "file too large"])
def test_a_full_disk_is_reported_keeps_what_was_there_and_continues_with_room(
    small_disk: tuple[Path, int], on_a_disk: bool, make_spec: Callable[..., RunSpec], child: Callable[..., object]
) -> None:
    folder, limit = small_disk
    limit = limit if on_a_disk else 300_000
    Journal.create(folder / "a.db", make_spec()).close()
    ballast = folder / "ballast"
    ballast.write_bytes(b"b" * 100_000)
    writer = child(UNTIL_FULL, folder / "a.db", limit, ballast)
    heard: list[str] = []
    while (line := writer.hear()).isdigit():
        heard.append(line)
    assert ("the disk is full" in line and "free some space" in line) or (limit and "could not be" in line)
    assert "a.db" in writer.hear()
    assert writer.hear() == heard[-1], "what was acknowledged is there, half a transaction is not"
    assert writer.hear() == str(int(heard[-1]) + 1)
    assert writer.end() == 0
    again = Journal.open(folder / "a.db")
    assert [s.seq for s in again.read()] == list(range(1, int(heard[-1]) + 2))
    assert again.read()[-1].event == TextArrived(text="goes on")
    again.close()


def test_no_journal_is_left_where_there_was_no_room_for_one(tmp_path: Path, make_spec: Callable[..., RunSpec]) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        with pytest.raises(JournalError) as error:
            Journal.create(tmp_path / "runs" / "a.db", make_spec())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "no journal can be created in" in one_line(error) or "a.db" in one_line(error)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("free", [0, 4_096, 16_384, 40_000, 70_000])
def test_a_disk_without_room_for_a_journal_is_called_full(
    small_disk: tuple[Path, int], make_spec: Callable[..., RunSpec], free: int
) -> None:
    folder, limit = small_disk
    if limit:
        pytest.skip("no disk can be mounted here")
    disk = os.statvfs(folder)
    (folder / "ballast").write_bytes(b"b" * (disk.f_bavail * disk.f_frsize - free))
    with pytest.raises(JournalError) as error:
        Journal.create(folder / "a.db", make_spec())
        raise JournalError("there was room")
    assert "the disk is full" in one_line(error) and "--runs-dir" in str(error.value)
    assert [path.name for path in folder.iterdir()] == ["ballast"]


def test_flipped_bytes_in_the_spec_or_the_header_are_damage_and_not_a_newer_version(
    tmp_path: Path, make_spec: Callable[..., RunSpec]
) -> None:
    whole = filled(tmp_path / "whole.db", make_spec(), 1)
    spec = whole.index(b'{"run_id"')
    for at in [60, 61, 68, 69, 70, 71, *range(spec, spec + 200, 5)]:
        data = bytearray(whole)
        data[at] ^= 0x55
        (tmp_path / "a.db").write_bytes(data)
        try:
            Journal.open(tmp_path / "a.db").close()
        except JournalError as error:
            assert "is damaged" in str(error) or "not a journal of rundry, or its beginning" in str(error), at
        (tmp_path / "a.db").unlink()
