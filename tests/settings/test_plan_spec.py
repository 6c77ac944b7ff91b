"""The spec of a run that makes a plan, and of the one that carries it out."""

from __future__ import annotations

from pathlib import Path

import pytest

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    Budget,
    Event,
    GateMode,
    GateModeChanged,
    GatePolicy,
    GoalTries,
    LoopKind,
    McpServer,
    ModelSpec,
    PlanAccepted,
    Predicates,
    Rule,
    RuleAdded,
    RunSpec,
    Spent,
    Tokens,
    UserError,
)
from rundry.agent.run.start.offered_tools import tools_of_run
from rundry.agent.settings.plan_spec import spec_of_plan, spec_of_planning
from rundry.agent.state.reports.accepted_plan import planned_after_chat
from rundry.agent.step.prompt.system_prompt import system_prompt

ACCEPTED = PlanAccepted(lines=["Read.", "Write."], check="pytest -q", run_id="next")
THEN = RunSpec(
    run_id="first",
    loop=LoopKind.GOAL,
    task="fix it",
    workspace="/w",
    model=ModelSpec(name="m"),
    budget=Budget(steps=30, tokens=None, usd=1.0, seconds=100.0, deadline=9.0),
    gate=GatePolicy(mode=GateMode.STAGE, quotas={"search": "3/min", "time__now": "1/min"}),
    predicates=Predicates(scope=["docs/**"], holdout="make hidden", holdout_files=["hidden/**"], timeout=9.0),
    tries=GoalTries(tries=3),
    mcp=[McpServer(name="time", command="time")],
    commit=True,
)
USED = Spent(steps=4, tokens=Tokens(100, 10), usd=0.25, seconds=12.0)


def carried(then: RunSpec, accepted: PlanAccepted = ACCEPTED) -> RunSpec:
    planning = spec_of_planning(then)
    return spec_of_plan(planning, accepted, planning.budget, USED)


def test_a_run_that_makes_a_plan_gets_nothing_that_changes_something():
    spec = spec_of_planning(THEN)
    assert tools_of_run(spec) == ["read_file", "list_files", "search", "fetch_url", "ask_person", "propose_plan"]
    assert (spec.loop, spec.gate.mode, spec.mcp, spec.tries, spec.commit) == (
        LoopKind.PLAN,
        GateMode.READ,
        [],
        None,
        False,
    )
    assert not spec.changes_files
    assert spec.gate.quotas == {"search": "3/min"}
    assert not spec.predicates.exist
    assert spec.budget == THEN.budget
    assert "propose_plan" in system_prompt(spec)
    assert "edit_file" not in system_prompt(spec)


def test_the_task_is_only_in_the_spec_whose_keys_the_journal_hides():
    spec = spec_of_planning(THEN)
    assert spec.then is not None
    assert (spec.task, spec.then.task) == ("fix it", "")


def test_the_run_of_an_accepted_plan_has_all_options_the_check_and_what_is_left():
    spec = carried(THEN)
    assert (spec.run_id, spec.loop, spec.task, spec.plan_of) == ("next", LoopKind.GOAL, "fix it", "first")
    assert spec.predicates == Predicates(
        until=["pytest -q"], scope=["docs/**"], holdout="make hidden", holdout_files=["hidden/**"], timeout=9.0
    )
    assert (spec.gate, spec.tries, spec.mcp, spec.commit) == (THEN.gate, THEN.tries, THEN.mcp, True)
    assert spec.budget == Budget(steps=26, tokens=None, usd=0.75, seconds=88.0, deadline=9.0)
    assert spec.opening.startswith("fix it\n\n")
    assert spec.opening.endswith("1. Read.\n2. Write.\n\nCheck: pytest -q")
    assert spec.plan == ["Read.", "Write."]


def test_limits_that_are_used_up_leave_nothing_and_not_less():
    planning = spec_of_planning(THEN)
    spec = spec_of_plan(planning, ACCEPTED, Budget(steps=3, usd=0.1, seconds=5.0), USED)
    assert (spec.budget.steps, spec.budget.usd, spec.budget.seconds) == (0, 0.0, 0.0)


def test_a_plan_without_a_check_begins_a_chat_whose_limits_are_for_each_message():
    spec = carried(THEN, PlanAccepted(lines=["Read."], run_id="next"))
    assert (spec.loop, spec.tries, spec.budget) == (LoopKind.CHAT, None, THEN.budget)
    assert spec.predicates == Predicates(scope=["docs/**"], timeout=9.0)
    assert spec.opening.endswith("\n\n1. Read.")


def test_what_the_person_set_decides_and_not_the_plan():
    mine = RunSpec(
        run_id="first",
        loop=LoopKind.GOAL,
        task="fix it",
        workspace="/w",
        model=ModelSpec(name="m"),
        predicates=Predicates(until=["make test"], until_file=["out.txt"]),
    )
    assert "make test, out.txt exists" in system_prompt(spec_of_planning(mine))
    for check in ("pytest -q", None):
        assert carried(mine, PlanAccepted(lines=["a"], check=check, run_id="next")).predicates == mine.predicates


@pytest.mark.parametrize("loop", [LoopKind.NAIVE, LoopKind.PACED, LoopKind.INTERVAL, LoopKind.IMPROVE])
def test_only_a_chat_and_a_goal_run_are_planned(loop: LoopKind):
    spec = RunSpec(run_id="r", loop=loop, task="t", workspace="/w", model=ModelSpec(name="m"))
    with pytest.raises(UserError, match="is not planned"):
        spec_of_planning(spec)


DENIED = Rule(verdict="deny", tool="run_command", command="make")


def after_chat(tmp_path: Path, spec: RunSpec, *events: Event) -> GatePolicy:
    """Return the gate of the run that carries out a plan which is begun in that run after these events."""
    journal = Journal.create(tmp_path / "r1.db", spec)
    try:
        for event in events:
            journal.append(event)
        then = planned_after_chat(journal, "the next task").then
    finally:
        journal.close()
    assert then is not None
    return then.gate


@pytest.mark.parametrize("mode", [GateMode.ASK, GateMode.READ])
def test_a_plan_in_a_chat_has_the_mode_and_the_rules_that_its_gate_has_now(tmp_path: Path, mode: GateMode):
    spec = RunSpec(
        run_id="chat",
        loop=LoopKind.CHAT,
        task="",
        workspace="/w",
        model=ModelSpec(name="m"),
        gate=GatePolicy(mode=GateMode.EFFECTS, falls_back=True),
    )
    gate = after_chat(tmp_path, spec, GateModeChanged(mode=mode), RuleAdded(rule=DENIED))
    assert gate == GatePolicy(mode=mode, rules=[DENIED])


def test_a_plan_after_a_plan_has_the_mode_of_the_run_that_would_have_followed(tmp_path: Path):
    gate = after_chat(tmp_path, spec_of_planning(THEN), RuleAdded(rule=DENIED))
    assert (gate.mode, gate.rules) == (GateMode.STAGE, [DENIED])
