"""What changes while a proposal waits, and what a cancel does to it."""

from __future__ import annotations

import asyncio
import hashlib
import random
import threading

import pytest

from rundry.agent.gate.draft import changed_draft
from rundry.agent.protocol import Decide, GateMode, ProposalDecided, ProposalOpened, ProposalRebased


async def test_a_file_that_changes_meanwhile_is_planned_again_shown_again_and_the_old_decision_refused(place):
    file = place.file("a.py", b"one\ntwo\n")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.py", b"two", b"2"))
    old = place.decide("approve")
    file.write_bytes(b"someone's line\none\ntwo\n")
    await place.clock.advance(1.1)
    rebased = place.of(ProposalRebased)[0]
    assert not rebased.conflict
    assert rebased.digest != old.digest
    assert "look at the new one" in gate.decide(old)
    assert gate.decide(place.decide("approve", digest=rebased.digest)) is None
    assert (await task).after == place.blobs[rebased.after] == b"someone's line\none\n2\n"


async def test_a_change_that_nobody_noticed_yet_is_noticed_by_the_decision(place):
    file = place.file("a.py", b"one\ntwo\n")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.py", b"two", b"2"))
    file.write_bytes(b"new\ntwo\n")
    assert "look at the new one" in gate.decide(place.decide("approve"))
    assert not task.done()
    assert len(place.of(ProposalRebased)) == 1
    gate.cancel_all("enough")
    await task


async def test_cancelling_the_step_rejects_what_waits_and_forgets_it(place):
    gate = place.gate()
    task = await place.begin(gate, place.command("make"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert gate.open == []
    assert place.of(ProposalDecided)[0].decision == "reject"


async def test_an_approval_that_comes_in_the_moment_of_a_cancel_is_recorded_as_what_it_came_to(place):
    gate = place.gate()
    task = await place.begin(gate, place.command("make"))
    assert gate.decide(place.decide("approve")) is None
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert place.of(ProposalDecided)[0].decision == "reject"


async def test_several_proposals_wait_apart_and_cancel_together(place):
    gate = place.gate()
    first = await place.begin(gate, place.command("make"))
    second = await place.begin(gate, place.command("make"))
    assert len(set(gate.open)) == 2
    gate.cancel_all("the person stopped the run")
    for ruling in (await first, await second):
        assert (ruling.approved, ruling.refused_by) == (False, "interrupt")
        assert "the person stopped the run" in ruling.note_for_model


async def test_the_digest_tells_commands_files_and_bytes_apart(place):
    place.file("a", b"x")
    place.file("b", b"x")
    gate = place.gate(GateMode.AUTO)
    for draft in (
        place.command("ls"),
        place.command("ls "),
        place.replacing("a", b"x", b"y"),
        place.replacing("a", b"x", b"z"),
        place.replacing("b", b"x", b"y"),
    ):
        await gate.propose(draft, call_id="c", events=place)
    digests = [event.digest for event in place.of(ProposalOpened)]
    assert len(set(digests)) == len(digests)
    assert all(len(digest) == 64 for digest in digests)


async def test_a_change_that_a_command_made_can_be_kept_or_restored_but_not_in_part(place):
    gate = place.gate(GateMode.AUTO, guard=("*",))
    task = await place.begin(gate, changed_draft("tests/test_a.py", b"old\n", b"new\n", "make fix"))
    opened = place.of(ProposalOpened)[0]
    assert opened.danger
    assert "-old\n+new\n" in opened.diff
    assert any("make fix" in why for why in opened.asks)
    assert gate.decide(place.decide("part", hunks=[0])) is not None
    assert gate.decide(place.decide("approve")) is None
    assert (await task).approved


@pytest.mark.long
async def test_what_is_decided_is_what_was_shown_in_a_thousand_interleavings(place):
    choose = random.Random(7)
    file = place.file("a.py", b"0\ntwo\n")
    for round_ in range(1000):
        place.events.clear()
        gate = place.gate()
        file.write_bytes(b"%d\ntwo\n" % round_)
        task = await place.begin(gate, place.replacing("a.py", b"two", b"2"))
        shown = place.shown()
        for _ in range(choose.randint(0, 3)):
            match choose.randint(0, 2):
                case 0:
                    file.write_bytes(b"%d other %d\ntwo\n" % (round_, choose.randint(0, 9)))
                case 1:
                    await place.clock.advance(1.1)
                case _:
                    rebased = place.of(ProposalRebased)
                    shown = (shown[0], rebased[-1].digest) if rebased else shown
        taken = gate.decide(Decide(proposal_id=shown[0], digest=shown[1], verdict="approve"))
        if taken is not None:
            gate.cancel_all("end")
            await task
            continue
        ruling = await task
        painted = [*place.of(ProposalOpened), *place.of(ProposalRebased)]
        after = next(event.after for event in painted if event.digest == shown[1])
        assert hashlib.sha256(ruling.after).hexdigest() == after
        assert ruling.draft.before.data == file.read_bytes()


class ThreadedOthers:
    """Other sessions, of which one wrote everything. It notes the threads that read them first."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []

    def written(self) -> dict[str, object]:
        self.threads.append(threading.current_thread())
        return {}

    def writer(self, path: str, digest: str | None) -> str:
        assert self.threads and threading.main_thread() not in self.threads
        return "20261121-014234-aaaaa"


async def test_the_journals_of_other_sessions_are_read_in_a_thread_before_one_is_named(place):
    file = place.file("a.py", b"one\ntwo\nthree\n")
    gate = place.gate(others=ThreadedOthers())
    task = await place.begin(gate, place.replacing("a.py", b"two", b"2"))
    file.write_bytes(b"ONE\ntwo\nthree\n")
    await place.clock.advance(1.1)
    async with asyncio.timeout(10):
        while not place.of(ProposalRebased):
            await asyncio.sleep(0.01)
    assert place.of(ProposalRebased)[0].why == "session 20261121-014234-aaaaa"
    gate.cancel_all("end")
    await task
