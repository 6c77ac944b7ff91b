"""What a person can decide at the gate on a paired device, and how that is recorded."""

from __future__ import annotations

import msgspec
import pytest

from rundry.agent.protocol import GateMode, ProposalDecided, is_device

CHANNEL = "device:phone"


async def test_a_decision_on_a_device_is_a_persons_and_names_the_device(place):
    place.file("a.py", b"x")
    gate = place.gate()
    for verdict in ("approve", "reject"):
        task = await place.begin(gate, place.replacing("a.py", b"x", b"y"))
        assert gate.decide(place.decide(verdict, channel=CHANNEL, reason="seen")) is None
        ruling = await task
    decided = place.of(ProposalDecided)
    assert [(event.decision, event.by, event.channel) for event in decided] == [
        ("approve", "person", CHANNEL),
        ("reject", "person", CHANNEL),
    ]
    assert ruling.note_for_model.startswith("rejected by the person: seen")


@pytest.mark.parametrize("name", ["test_a.py", ".vscode/tasks.json", ".envrc"])
async def test_what_asks_in_every_mode_is_not_approved_on_a_device_but_rejected(place, name):
    place.file(name, b"x")
    gate = place.gate(guard=("test_a.py",), mode=GateMode.AUTO)
    task = await place.begin(gate, place.replacing(name, b"x", b"y"))
    assert "asks in every mode" in gate.decide(place.decide("approve", channel=CHANNEL))
    assert not task.done()
    assert gate.decide(place.decide("reject", channel=CHANNEL)) is None
    assert not (await task).approved


async def test_a_command_that_needs_more_than_the_sandbox_allows_is_not_approved_on_a_device(place):
    gate = place.gate()
    draft = msgspec.structs.replace(place.command("curl x.org"), beyond="network: x.org")
    task = await place.begin(gate, draft)
    assert "asks in every mode" in gate.decide(place.decide("approve", channel=CHANNEL))
    assert gate.decide(place.decide("approve")) is None
    assert (await task).approved


@pytest.mark.parametrize(
    "more",
    [{"always": True}, {"session": True}, {"prefix": True}, {"text": "own"}, {"hunks": [0]}, {"cuts": {0: [1]}}],
    ids=lambda more: next(iter(more)),
)
async def test_a_device_approves_whole_proposals_only_and_adds_no_rule(place, more):
    place.file("a.py", b"x")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.py", b"x", b"y"))
    assert "whole proposal" in gate.decide(place.decide("approve", channel=CHANNEL, **more))
    assert "whole proposal" in gate.decide(place.decide("part", channel=CHANNEL, hunks=[0]))
    assert not task.done()
    assert gate.policy.rules == []
    gate.decide(place.decide("reject"))
    await task


async def test_the_digest_of_another_version_decides_nothing(place):
    place.file("a.py", b"x")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.py", b"x", b"y"))
    assert gate.decide(place.decide("approve", channel=CHANNEL, digest="0" * 64)) is not None
    assert not task.done()
    gate.decide(place.decide("reject"))
    await task


def test_only_the_channel_of_a_device_is_one():
    assert is_device(CHANNEL)
    assert not is_device("acp:device:")
    assert not is_device("")
