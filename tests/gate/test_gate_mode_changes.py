"""What a change of the gate's mode does with the proposals that wait."""

from __future__ import annotations

import pytest

from rundry.agent.protocol import GateMode, ProposalDecided, Rule


async def test_a_mode_that_needs_no_person_approves_what_waits_as_the_policy(place):
    place.file("a.py", b"one\n")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.py", b"one", b"two"))
    gate.policy.set_mode(GateMode.EDITS, unsandboxed_ok=False)
    assert not task.done(), "the mode alone decides nothing"
    gate.decide_by_mode()
    assert (await task).approved
    (decided,) = place.of(ProposalDecided)
    assert (decided.decision, decided.by) == ("approve", "policy")


async def test_a_mode_that_forbids_changes_rejects_what_waits(place):
    place.file("a.py", b"one\n")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.py", b"one", b"two"))
    gate.policy.set_mode(GateMode.READ, unsandboxed_ok=False)
    gate.decide_by_mode()
    assert not (await task).approved


async def test_what_a_rule_lets_only_a_person_decide_still_waits(place):
    place.file("a.py", b"one\n")
    gate = place.gate(rules=[Rule(verdict="ask", path="a.py")])
    task = await place.begin(gate, place.replacing("a.py", b"one", b"two"))
    gate.policy.set_mode(GateMode.AUTO, unsandboxed_ok=True)
    gate.decide_by_mode()
    assert not task.done() and not place.of(ProposalDecided)
    gate.decide(place.decide("reject"))
    assert not (await task).approved


@pytest.mark.parametrize("mode", [GateMode.EDITS, GateMode.AUTO])
async def test_a_change_that_is_in_conflict_with_the_file_still_waits(place, mode: GateMode):
    path = place.file("a.py", b"one\ntwo\n")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.py", b"one\n", b"1\n"))
    path.write_bytes(b"mine\ntwo\n")
    gate.policy.set_mode(mode, unsandboxed_ok=True)
    gate.decide_by_mode()
    assert not task.done()
    assert path.read_bytes() == b"mine\ntwo\n"
    gate.cancel_all("the end of the test")
    await task
