"""What an MCP client can decide at the gate in place of a person, and how that is recorded."""

from __future__ import annotations

import msgspec
import pytest

from rundry.agent.protocol import ProposalDecided, evidence_words, is_client

CLIENT = "mcp:claude"


async def test_a_decision_of_a_client_is_recorded_under_its_name(place):
    place.file("a.py", b"x")
    gate = place.gate()
    for verdict in ("approve", "reject"):
        task = await place.begin(gate, place.replacing("a.py", b"x", b"y"))
        assert gate.decide(place.decide(verdict, by=CLIENT, reason="seen")) is None
        ruling = await task
    decided = place.of(ProposalDecided)
    assert [(event.decision, event.by) for event in decided] == [("approve", CLIENT), ("reject", CLIENT)]
    assert ruling.note_for_model.startswith("rejected by mcp:claude: seen")
    assert "person" not in ruling.note_for_model


async def test_a_client_cannot_approve_a_guarded_file_but_can_reject_it(place):
    place.file("test_a.py", b"x")
    gate = place.gate(guard=("test_a.py",))
    task = await place.begin(gate, place.replacing("test_a.py", b"x", b"y"))
    assert gate.decide(place.decide("approve", by=CLIENT)) == "only a person can approve this, not mcp:claude"
    assert not task.done()
    assert gate.decide(place.decide("reject", by=CLIENT)) is None
    assert not (await task).approved


async def test_a_person_approves_what_a_client_could_not(place):
    place.file("test_a.py", b"x")
    gate = place.gate(guard=("test_a.py",))
    task = await place.begin(gate, place.replacing("test_a.py", b"x", b"y"))
    assert gate.decide(place.decide("approve", by=CLIENT)) is not None
    assert gate.decide(place.decide("approve")) is None
    assert (await task).approved
    assert place.of(ProposalDecided)[0].by == "person"


@pytest.mark.parametrize(
    "more",
    [{"always": True}, {"session": True}, {"text": "own"}, {"hunks": [0]}, {"cuts": {0: [1]}}],
    ids=lambda more: next(iter(more)),
)
async def test_a_client_cannot_do_more_than_approve_a_whole_proposal(place, more):
    place.file("a.py", b"x")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.py", b"x", b"y"))
    assert "whole proposal" in gate.decide(place.decide("approve", by=CLIENT, **more))
    assert "whole proposal" in gate.decide(place.decide("part", by=CLIENT, hunks=[0]))
    assert not task.done()
    assert gate.policy.rules == []
    gate.decide(place.decide("reject"))
    await task


async def test_a_client_cannot_allow_a_command_more_than_the_sandbox_does(place):
    gate = place.gate()
    draft = msgspec.structs.replace(place.command("curl x.org"), beyond="network: x.org")
    task = await place.begin(gate, draft)
    assert "only a person" in gate.decide(place.decide("approve", by=CLIENT))
    gate.decide(place.decide("reject", by=CLIENT))
    assert not (await task).approved


def test_an_outcome_names_the_clients_that_approved_also_without_other_evidence():
    assert evidence_words(None) == ""
    assert evidence_words(None, [CLIENT]) == "approved by mcp:claude, not by a person"
    assert is_client(CLIENT)
    assert not is_client("person")
    assert not is_client("policy")
