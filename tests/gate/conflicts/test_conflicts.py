"""A waiting change that no longer fits: what the person is shown, and each way out."""

from __future__ import annotations

import asyncio
import os
import socket
from dataclasses import dataclass

import msgspec
import pytest
from gate.conflicts.in_conflict import MERGED, in_conflict, newest

from rundry.agent.gate.draft import changed_draft, read_file_state
from rundry.agent.gate.three_way_merge import merge
from rundry.agent.host.files.file_states import FileState
from rundry.agent.host.files.write_file import write_file
from rundry.agent.protocol import GateMode, ProposalDecided, ProposalOpened, ProposalRebased


@dataclass(frozen=True)
class Refusing:
    """A plan that fits no content."""

    why: str

    def on(self, state: FileState) -> str:
        return self.why


async def test_a_conflict_is_reported_in_one_sentence_and_in_a_persons_words(place):
    file = place.file("a.py", b"one\ntwo\nthree\n")
    draft = place.replacing("a.py", b"two", b"2")
    conflict = "edit 1 of 2: old_text is not in the file. Nothing was changed. The nearest is line 2; copy it:\n2| zwei"
    gate = place.gate()
    task = await place.begin(gate, msgspec.structs.replace(draft, plan=Refusing(conflict)))
    file.write_bytes(b"one\nzwei\nthree\n")
    await place.clock.advance(1.1)
    assert newest(place).why.endswith(": edit 1 of 2: the text that it replaces is not in the file")
    gate.cancel_all("end")
    await task


async def test_a_conflict_stays_open_and_shows_the_disk_the_proposal_and_both_in_one_text(place):
    gate, task, file = await in_conflict(place)
    event = newest(place)
    assert event.conflict
    assert event.why.startswith("your edit of ")
    assert event.why.endswith(": the text is gone")
    assert place.blobs[event.before] == b"one\nzwei\nthree\n"
    assert place.blobs[event.after] == b"one\n2\nthree\n"
    assert place.blobs[event.merged] == MERGED
    assert "-zwei\n+2\n" in event.diff
    assert event.digest != place.shown()[1]
    assert not task.done()
    assert "look at the new one" in gate.decide(place.decide("approve"))
    for more in ({"verdict": "approve"}, {"verdict": "part", "hunks": [0]}, {"verdict": "approve", "always": True}):
        why = gate.decide(place.decide(**more, digest=event.digest))
        assert "this proposal is in conflict" in why
        assert "\n" not in why
    assert not task.done()
    gate.cancel_all("end")
    await task
    assert file.read_bytes() == b"one\nzwei\nthree\n"


async def test_again_sends_it_back_with_the_reason(place):
    gate, task, _ = await in_conflict(place)
    assert gate.decide(place.decide("again", digest=newest(place).digest, reason="keep it German")) is None
    ruling = await task
    assert (ruling.approved, ruling.refused_by) == (False, "conflict")
    assert "Read the file again, then make the change again" in ruling.note_for_model
    assert ruling.note_for_model.endswith("The person says: keep it German")
    decided = place.of(ProposalDecided)[0]
    assert (decided.decision, decided.by) == ("reject", "person")
    assert decided.reason == "conflict: the text is gone; keep it German"


async def test_mine_keeps_what_stands_there_and_tells_the_model_what_that_is(place):
    gate, task, _ = await in_conflict(place)
    assert gate.decide(place.decide("mine", digest=newest(place).digest)) is None
    ruling = await task
    assert not ruling.approved
    assert "keeps the file" in ruling.note_for_model
    assert "-two\n+zwei\n" in ruling.note_for_model


async def test_the_diff_of_a_huge_edit_of_the_persons_is_cut(place):
    gate, task, _ = await in_conflict(place, b"".join(b"line %d\n" % i for i in range(5000)))
    gate.decide(place.decide("mine", digest=newest(place).digest))
    note = (await task).note_for_model
    assert len(note) < 5_000
    assert "[cut: read the file" in note


async def test_with_nobody_there_a_conflict_goes_back_to_the_model(place):
    file = place.file("a.py", b"one\ntwo\n")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.py", b"two", b"2"))
    place.attended = False
    file.write_bytes(b"all is new\n")
    await place.clock.advance(1.1)
    ruling = await task
    assert (ruling.approved, ruling.refused_by, ruling.by) == (False, "conflict", "policy")
    assert newest(place).conflict


@pytest.mark.parametrize(
    ("how", "word"),
    [
        ("deleted", "the text is gone"),
        ("folder", "a folder"),
        ("link", "leads somewhere else"),
        ("link out", "outside of the workspace"),
        ("circle", "circle"),
        ("fifo", "a pipe"),
        ("socket", "a socket"),
        ("parent link", "outside of the workspace"),
        ("huge", "too large"),
        ("unreadable", "binary"),
    ],
)
async def test_a_file_that_becomes_something_else_is_a_conflict_that_says_so(place, how, word):
    file = place.file("d/a.py", b"one\ntwo\n")
    outside = place.ws.root.parent / "outside"
    outside.mkdir()
    (outside / "a.py").write_bytes(b"one\ntwo\n")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("d/a.py", b"two", b"2"))
    become(place, file, how, outside)
    assert gate.decide(place.decide("approve")) is not None
    event = newest(place)
    assert event.conflict
    assert event.merged is None
    assert word in event.why or how == "unreadable"
    assert "\n" not in event.why
    if how != "unreadable":
        assert event.before is None
    assert "file on disk has no text" in gate.decide(place.decide("approve", digest=event.digest, text="mine"))
    assert gate.decide(place.decide("again", digest=event.digest)) is None
    assert (await task).refused_by == "conflict"
    assert (outside / "a.py").read_bytes() == b"one\ntwo\n"


def become(place, file, how, outside):
    file.unlink()
    match how:
        case "folder":
            file.mkdir()
        case "link":
            place.file("b.py", b"one\ntwo\n")
            file.symlink_to("../b.py")
        case "link out":
            file.symlink_to(outside / "a.py")
        case "circle":
            file.symlink_to("a.py")
        case "fifo":
            os.mkfifo(file)
        case "socket":
            with socket.socket(socket.AF_UNIX) as end:
                here = os.open(file.parent, os.O_RDONLY)
                end.bind(f"/proc/self/fd/{here}/a.py")
                os.close(here)
        case "parent link":
            file.parent.rmdir()
            file.parent.symlink_to(outside)
        case "huge":
            with file.open("wb") as sparse:
                sparse.truncate(200_000_000)
        case "unreadable":
            file.write_bytes(b"one\n\0")
        case _:
            pass


async def test_what_stands_in_the_way_is_looked_at_again_when_it_goes(place):
    file = place.file("a.py", b"one\ntwo\n")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.py", b"two", b"2"))
    file.unlink()
    file.mkdir()
    await place.clock.advance(1.1)
    folder = newest(place)
    file.rmdir()
    os.mkfifo(file)
    assert "look at the new one" in gate.decide(place.decide("mine", digest=folder.digest))
    file.unlink()
    file.write_bytes(b"two\n")
    assert gate.decide(place.decide("mine", digest=newest(place).digest)) is not None
    assert gate.decide(place.decide("approve", digest=newest(place).digest)) is None
    assert (await task).after == b"2\n"


async def test_a_change_of_this_run_in_the_same_file_is_not_called_the_persons(place):
    place.file("a.py", b"one\ntwo\n")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.py", b"two", b"2"))
    write_file(place.ws, read_file_state(place.ws, "a.py"), b"ONE\ntwo\n")
    await place.clock.advance(1.1)
    assert newest(place).why == "another change of this run"
    gate.cancel_all("end")
    await task


async def test_the_system_tells_of_a_change_before_the_next_look(place):
    file = place.file("a.py", b"one\ntwo\n")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.py", b"two", b"2"))
    async with asyncio.timeout(20):
        count = 0
        while not place.of(ProposalRebased):  # the clock stands still, so the gate does not look by itself
            count += 1
            file.write_bytes(b"%d\ntwo\n" % count)
            await asyncio.sleep(0.02)
    assert newest(place).why.startswith("your edit of ")
    gate.cancel_all("end")
    await task


async def test_a_change_that_a_command_made_is_never_in_conflict(place):
    gate = place.gate(GateMode.AUTO, guard=("*",))
    file = place.file("tests/a.py", b"new\n")
    task = await place.begin(gate, changed_draft("tests/a.py", b"old\n", b"new\n", "make"))
    file.write_bytes(b"newer\n")
    await place.clock.advance(1.1)
    assert place.of(ProposalRebased) == []
    assert "not in conflict" in gate.decide(place.decide("again"))
    assert gate.decide(place.decide("approve")) is None
    assert (await task).approved
    assert len(place.of(ProposalOpened)) == 1


@pytest.mark.parametrize(
    ("disk", "proposed", "merged", "overlaps"),
    [
        ("a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\n", 0),
        ("A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n", 0),
        ("A\nb\nc\n", "A\nb\nc\n", "A\nb\nc\n", 0),
        ("a\nb\nc\nd", "x\na\nb\nc\n", "x\na\nb\nc\nd", 0),
        ("", "a\nb\nc\n", "", 0),
        ("A\nb\nc\n", "a\nB\nc\n", None, 1),
        ("a\nb\nc\nx\n", "a\nb\nc\ny\n", None, 1),
        ("A\nb\nC\n", "1\nb\n3\n", None, 2),
        ("", "a\nB\nc\n", None, 1),
    ],
)
def test_three_texts_are_joined_where_nothing_overlaps(disk, proposed, merged, overlaps):
    found = merge("a\nb\nc\n", disk, proposed)
    assert found.overlaps == overlaps
    if merged is not None:
        assert found.text == merged


def test_a_last_line_without_its_end_does_not_swallow_a_mark():
    assert merge("a", "b", "c").text == ("<<<<<<< on disk\nb\n||||||| before\na\n=======\nc\n>>>>>>> proposed\n")
