"""Writes next to a second writer, and disks that are full."""

import os
import threading

import pytest
from host.files.leftovers import leftovers, put

from rundry.agent.host.file_errors import PathRefused, StaleFile, WriteFailed
from rundry.agent.host.files.file_states import read_state
from rundry.agent.host.files.write_file import write_file


def test_a_file_that_someone_else_made_meanwhile_is_not_written_over(ws):
    state = read_state(ws.resolve("new/f"))
    (ws.root / "new").mkdir()
    put(ws, "new/f", b"theirs")
    with pytest.raises(StaleFile, match="someone else"):
        write_file(ws, state, b"ours")
    assert (ws.root / "new/f").read_bytes() == b"theirs" and leftovers(ws) == []


def test_a_second_writer_that_has_the_file_open_is_not_lost(ws):
    path = put(ws, "f", b"one")
    state = read_state(path)
    with path.open("r+b", buffering=0) as theirs:
        with pytest.raises(StaleFile):
            write_file(ws, state, b"ours")
        theirs.write(b"THEIRS")
    assert path.read_bytes() == b"THEIRS"


def append_in_place(path, line):
    with path.open("ab", buffering=0) as file:
        file.write(line)


def append_by_rename(path, line):
    beside = path.with_name("beside")
    beside.write_bytes(path.read_bytes() + line)
    os.replace(beside, path)


@pytest.mark.parametrize("append", [append_in_place, append_by_rename])
def test_two_hundred_interleavings_with_a_second_writer_lose_none_of_its_writes(ws, append):
    path = put(ws, "f", b"")
    theirs: list[bytes] = []
    done, pause = threading.Event(), threading.Event()

    def second_writer():
        while not done.is_set():
            line = b"t%d\n" % len(theirs)
            append(path, line)
            theirs.append(line)
            pause.wait(0.001 * (len(theirs) % 7))

    thread = threading.Thread(target=second_writer)
    thread.start()
    ours: list[bytes] = []
    stale = 0
    try:
        while len(ours) + stale < 200 or not stale:
            line = b"o%d\n" % len(ours)
            try:
                state = read_state(path)
                write_file(ws, state, state.data + line)
                ours.append(line)
            except StaleFile:
                stale += 1
    finally:
        done.set()
        thread.join()
    found = path.read_bytes().splitlines(keepends=True)
    kept = {line for aside in ws.root.glob("f.kept-*") for line in aside.read_bytes().splitlines(keepends=True)}
    assert set(theirs) <= set(found) | kept
    if append is append_in_place:  # one that writes by rename may lose ours, or take over one that was not approved
        assert sorted(ours + theirs) == sorted(found) or kept
        assert len(found) == len(set(found))
    assert ours
    assert leftovers(ws) == []


def test_tools_files_are_refused_at_the_write_too(ws):
    (ws.root / ".git").mkdir()
    state = read_state(ws.root / ".git/hooks")
    with pytest.raises(PathRefused):
        write_file(ws, state, b"x")


def test_a_read_only_file_stays_and_the_error_says_that_it_is_read_only(ws):
    path = put(ws, "f", b"one")
    path.chmod(0o444)
    with pytest.raises(WriteFailed, match="read-only"):
        write_file(ws, read_state(path), b"two")
    assert path.read_bytes() == b"one" and leftovers(ws) == []


@pytest.mark.skipif(not os.access("/dev/full", os.F_OK), reason="no small file system to fill")
def test_a_full_disk_leaves_the_old_file_and_nothing_next_to_it(ws):
    import resource

    path = put(ws, "f", b"one")
    state = read_state(path)
    state_new = read_state(ws.resolve("deep/new"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # fails as a full disk does: in the middle of a write
    try:
        for before in (state, state_new):
            with pytest.raises(WriteFailed):
                write_file(ws, before, b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == b"one" and leftovers(ws) == []
    assert not (ws.root / "deep").exists()
