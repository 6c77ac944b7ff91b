"""Allowed for this session at the gate, shown in the footer, and revoked."""

from __future__ import annotations

import pytest
from fakes.played_events import proposal, started
from fakes.pressing import press
from fakes.views.gate_stage import GateStage
from painted import until

from rundry.agent import ProposalDecided, RemoveRule, Rule, RuleAdded, RuleRemoved

COMMAND = {"command": "pytest -q", "rule": "allow run_command: pytest -q", "needs": ["pytest"]}


async def test_a_shows_what_it_allows_and_pressed_again_approves_and_allows_it(stage: GateStage):
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await stage.opened(pilot, started(), proposal(1, **COMMAND))
        await press(pilot, "a")
        await until(pilot, lambda: "a again allows `pytest -q` for this session" in stage.text())
        assert stage.decided == []
        await press(pilot, "escape")
        await until(pilot, lambda: "a again" not in stage.text())
        await press(pilot, "a")
        await until(pilot, lambda: "a again" in stage.text())
        await press(pilot, "a")
        (command,) = stage.decided
        assert (command.verdict, command.session, command.always) == ("approve", True, False)


def joined(stage: GateStage) -> str:
    """The text of the screen without its line ends and the edge of the panel."""
    return " ".join(stage.text().replace("▌", " ").split())


PIPE = {
    "command": "pytest -q tests/test_money.py | tail -5",
    "rules": ["allow run_command: pytest -q tests/test_money.py", "allow run_command: tail -5"],
    "prefixes": ["allow run_command: pytest", "allow run_command: tail"],
    "needs": ["pytest", "tail"],
}


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)])
async def test_a_or_A_shows_the_rule_of_each_part_and_p_allows_all_arguments(stage: GateStage, size: tuple[int, int]):
    async with stage.app.run_test(size=size) as pilot:
        await stage.opened(pilot, started(), proposal(1, **PIPE))
        await press(pilot, "p")
        await until(pilot, lambda: "press a or A first" in stage.text())
        await press(pilot, "A")
        always = "always would write into .rundry.toml: allow run_command: `pytest -q tests/test_money.py`, `tail -5`"
        await until(pilot, lambda: always in joined(stage))
        assert "p writes for all arguments: allow run_command: `pytest`, `tail`" in joined(stage)
        await press(pilot, "escape")
        await press(pilot, "a")
        session = "a again allows `pytest -q tests/test_money.py`, `tail -5` for this session"
        await until(pilot, lambda: session in joined(stage))
        assert "p allows all arguments: `pytest`, `tail`" in joined(stage)
        assert stage.decided == []
        await press(pilot, "p")
        (command,) = stage.decided
        assert (command.verdict, command.session, command.always, command.prefix) == ("approve", True, False, True)


async def test_p_decides_nothing_where_there_is_no_prefix_and_a_nothing_where_there_is_only_one(stage: GateStage):
    only = {"command": "ls *.py", "rule": None, "prefixes": ["allow run_command: ls"]}
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await stage.opened(pilot, started(), proposal(1, **COMMAND))
        await press(pilot, "a")
        await until(pilot, lambda: "a again allows" in stage.text())
        await press(pilot, "p")
        await until(pilot, lambda: "this command has no prefix" in stage.text())
        stage.play(ProposalDecided(proposal_id="p1", decision="approve", by="person"), proposal(2, **only))
        await until(pilot, lambda: "ls *.py" in stage.text())
        await until(pilot, lambda: "y approve" in stage.text())
        await press(pilot, "A", "A")
        await until(pilot, lambda: "p writes for all arguments: allow run_command: ls" in stage.text())
        assert stage.decided == []


async def test_what_is_dangerous_is_never_allowed_for_the_session(stage: GateStage):
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await stage.opened(pilot, started(), proposal(1, danger=True, rule=None))
        assert "a allow" not in stage.text()
        await press(pilot, "a")
        await until(pilot, lambda: "not possible here: this needs a decision each time" in stage.text())


async def test_the_footer_counts_what_is_allowed_and_the_list_revokes_it(stage: GateStage):
    rules = [Rule(verdict="allow", path="src/a.py"), Rule(verdict="allow", tool="run_command", command="pytest -q")]
    async with stage.app.run_test(size=(80, 24)) as pilot:
        stage.play(started(), *(RuleAdded(rule=rule) for rule in rules))
        await until(pilot, lambda: "ask, 2 allowed" in stage.text())
        stage.screen.action_do("allowed")
        await until(pilot, lambda: "Allowed for this session" in stage.text())
        assert "edits of src/a.py" in stage.text()
        await press(pilot, "down", "enter")
        await until(pilot, lambda: "revoked: pytest -q needs approval again" in stage.text())
        assert stage.link.commands == [RemoveRule(rule=rules[1])]
        stage.play(RuleRemoved(rule=rules[1]))
        await press(pilot, "escape")
        await until(pilot, lambda: "ask, 1 allowed" in stage.text())


@pytest.mark.parametrize("size", [(40, 12), (60, 20), (80, 24), (200, 50)])
async def test_the_reason_is_one_line_and_i_explains_it(stage: GateStage, size: tuple[int, int]):
    asks = ["no rule allows `python3 -m pytest`", "no rule allows `tail -40`"]
    line = "python3 -m pytest | tail -40"
    async with stage.app.run_test(size=size) as pilot:
        await stage.opened(pilot, started(), proposal(1, command=line, asks=asks, needs=["python3", "tail"]))
        assert "Needs approval: python3, tail" in stage.text()
        assert "no rule allows" not in stage.text()
        assert "y approve" in stage.text()
        assert "n reject" in stage.text()
        await press(pilot, "i")
        await until(pilot, lambda: "no rule allows `tail -40`" in stage.text())
        await press(pilot, "i")
        await until(pilot, lambda: "no rule allows" not in stage.text())


async def test_the_reasons_of_an_older_journal_are_one_line_too(stage: GateStage):
    asks = ["no rule allows `python3 -m pytest`", "no rule allows `tail -40`"]
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await stage.opened(pilot, started(), proposal(1, asks=asks))
        assert "Needs approval: python3, tail" in stage.text()
