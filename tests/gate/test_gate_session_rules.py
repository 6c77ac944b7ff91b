"""What a person allows for the rest of a run, and what needs approval in short (docs/requirements.md 6.2)."""

from __future__ import annotations

import asyncio

import pytest
from gate.saved_rules import Saved

from rundry.agent.protocol import ProposalDecided, ProposalOpened, RuleAdded


async def test_a_command_allowed_for_the_session_passes_from_then_on_and_is_not_saved(place):
    saved = Saved()
    gate = place.gate(remembered=saved)
    task = await place.begin(gate, place.command("pytest -q"))
    assert gate.decide(place.decide("approve", session=True)) is None
    assert (await task).approved
    assert [event.rule.command for event in place.of(RuleAdded)] == ["pytest -q"]
    assert place.of(ProposalDecided)[-1].rule is None
    passing = gate.propose(place.command("pytest -q -x"), call_id="c", events=place)
    assert (await asyncio.wait_for(passing, 5)).by == "policy"
    assert saved.rules == []
    gate.policy.remove(place.of(RuleAdded)[0].rule)
    task = await place.begin(gate, place.command("pytest -q"))
    assert not task.done()
    gate.cancel_all("the test is over")
    await task


async def test_edits_of_a_path_are_allowed_for_every_tool_that_edits(place):
    place.file("a.py", b"x")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.py", b"x", b"y"))
    assert gate.decide(place.decide("approve", session=True)) is None
    await task
    assert place.judge_file("a.py", rules=gate.policy.rules).action == "allow"
    assert place.judge_file("b.py", rules=gate.policy.rules).action == "ask"


async def test_what_no_rule_can_allow_or_is_not_approved_whole_is_not_allowed_for_the_session(place):
    gate = place.gate()
    task = await place.begin(gate, place.command("make && ls $X"))
    assert "approve it once" in gate.decide(place.decide("approve", session=True))
    assert place.of(RuleAdded) == []
    gate.decide(place.decide("reject"))
    await task


@pytest.mark.parametrize(
    ("command", "needs"),
    [
        ("python3 -m pytest -q | tail -40", ["python3", "tail"]),
        ("cd src && make all; make all", ["make"]),
        ("pytest -q && git push", ["git"]),
        ("rm $X", ["rm"]),
    ],
)
def test_the_commands_that_no_rule_allows_are_named(place, command: str, needs: list[str]):
    (place.ws.root / "src").mkdir()
    assert place.judge_command(command, "pytest").needs == needs


async def test_the_names_and_the_place_in_the_answer_are_in_the_journal(place):
    gate = place.gate()
    task = await place.begin(gate, place.command("make | tail"))
    assert place.of(ProposalOpened)[0].needs == ["make", "tail"]
    gate.decide(place.decide("reject"))
    await task
    place.file("a.py", b"x")
    task = await place.begin(gate, place.replacing("a.py", b"x", b"y"), place=(2, 5))
    opened = place.of(ProposalOpened)[1]
    assert (opened.file, opened.files, opened.needs) == (2, 5, ["edits"])
    gate.decide(place.decide("reject"))
    await task
