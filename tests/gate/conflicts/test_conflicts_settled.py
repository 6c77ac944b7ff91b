"""How a person settles a conflict, and when one settles itself."""

from __future__ import annotations

import os

import pytest
from gate.conflicts.in_conflict import MERGED, in_conflict, newest

from rundry.agent.protocol import ProposalDecided, ProposalRebased


async def test_a_text_merged_by_hand_replaces_exactly_what_was_there(place):
    gate, task, _ = await in_conflict(place, b"one\r\nzwei\r\nthree\r\n", b"one\r\ntwo\r\nthree\r\n")
    decide = place.decide("approve", digest=newest(place).digest, text="one\nzwei (2)\nthree\n", reason="both")
    assert gate.decide(decide) is None
    ruling = await task
    assert ruling.approved
    assert ruling.edited
    assert ruling.after == b"one\r\nzwei (2)\r\nthree\r\n"
    assert ruling.draft.before.data == b"one\r\nzwei\r\nthree\r\n"
    assert "The person says: both" in ruling.note_for_model
    assert "+zwei (2)" in ruling.note_for_model


async def test_a_text_that_still_holds_a_mark_is_not_written(place):
    gate, task, _ = await in_conflict(place)
    event = newest(place)
    why = gate.decide(place.decide("approve", digest=event.digest, text=MERGED.decode()))
    assert why.startswith("line 2 still has a conflict marker")
    assert not task.done()
    assert gate.decide(place.decide("reject", digest=event.digest, reason="no")) is None
    assert (await task).note_for_model.startswith("rejected by the person: no")


async def test_a_text_by_hand_that_is_what_stands_there_writes_nothing(place):
    gate, task, _ = await in_conflict(place)
    assert gate.decide(place.decide("approve", digest=newest(place).digest, text="one\nzwei\nthree\n")) is None
    ruling = await task
    assert not ruling.approved
    assert "keeps the file" in ruling.note_for_model


async def test_the_disk_moves_on_and_the_conflict_is_another_one_or_none(place):
    gate, task, file = await in_conflict(place)
    first = newest(place)
    file.write_bytes(b"one\ndeux\nthree\n")
    assert "look at the new one" in gate.decide(place.decide("again", digest=first.digest))
    second = newest(place)
    assert second.conflict
    assert second.digest != first.digest
    os.utime(file, ns=(1, 1))
    await place.clock.advance(1.1)
    assert newest(place) == second
    file.write_bytes(b"ONE\ntwo\nthree\n")
    await place.clock.advance(1.1)
    third = newest(place)
    assert not third.conflict
    assert "not in conflict" in gate.decide(place.decide("mine", digest=third.digest))
    assert gate.decide(place.decide("approve", digest=third.digest)) is None
    assert (await task).after == b"ONE\n2\nthree\n"


async def test_what_was_restored_fits_as_it_did(place):
    gate, task, file = await in_conflict(place)
    file.write_bytes(b"one\ntwo\nthree\n")
    await place.clock.advance(1.1)
    assert not newest(place).conflict
    assert newest(place).digest == place.shown()[1]
    assert gate.decide(place.decide("approve")) is None
    assert (await task).approved


@pytest.mark.parametrize("disk", [b"one\n2\nthree\n", b"one\n2\nthree\nfour\n"])
async def test_what_the_person_wrote_themselves_is_settled_without_a_write(place, disk):
    _, task, _ = await in_conflict(place, disk)
    ruling = await task
    assert ruling.approved
    assert ruling.after == ruling.draft.before.data == disk
    assert "already has exactly this change" in place.of(ProposalDecided)[0].reason
    assert place.of(ProposalRebased) == []


async def test_a_change_of_other_lines_is_joined_also_where_the_tool_cannot_plan_it_again(place):
    file = place.file("a.py", b"1\n2\n3\n4\n5\n6\n")
    gate = place.gate()
    draft = place.replacing("a.py", b"1\n2\n3\n4\n5\n6\n", b"1\n2\n3\n4\n5\nsix\n")
    task = await place.begin(gate, draft)
    file.write_bytes(b"one\n2\n3\n4\n5\n6\n")
    await place.clock.advance(1.1)
    event = newest(place)
    assert not event.conflict
    assert gate.decide(place.decide("approve", digest=event.digest)) is None
    assert (await task).after == b"one\n2\n3\n4\n5\nsix\n"


async def test_a_file_whose_line_endings_someone_changed_is_joined_in_the_new_ones(place):
    file = place.file("a.py", b"1\n2\n3\n")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.py", b"1\n2\n3\n", b"1\n2\nthree\n"))
    file.write_bytes(b"1\r\n2\r\n3\r\n")
    await place.clock.advance(1.1)
    assert gate.decide(place.decide("approve", digest=newest(place).digest)) is None
    assert (await task).after == b"1\r\n2\r\nthree\r\n"
