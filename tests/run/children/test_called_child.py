"""What the model of a chat gives to a child run: its part of the budget, its tools and its gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import msgspec
import pytest
from fakes import played_events
from run.loops.told import Told

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    Budget,
    ChildFinished,
    ChildSpent,
    ChildStarted,
    GateMode,
    GatePolicy,
    LoopKind,
    ParentRef,
    Reason,
    Rule,
    RunEnded,
    Said,
    Spent,
    StageBegan,
    StepStarted,
    Tokens,
    ToolCall,
    ToolFinished,
    Unpaused,
)
from rundry.agent.run.children.called_child import (
    can_change,
    gate_of_child,
    limits_of_tree,
    share_of_call,
    shown_name,
    tools_of_child,
)
from rundry.agent.run.commands.reconfigure import remove_rule
from rundry.agent.run.start.settle import answer_with
from rundry.agent.tools.tool_arguments import StartChild

BUDGET = Budget(steps=40, tokens=100_000, usd=1.0, seconds=600.0)


def chat(budget: Budget = BUDGET, **spec: object) -> Told:
    begun = played_events.started("go", loop=LoopKind.CHAT, budget=budget)
    return Told(LoopKind.CHAT, budget, **spec).tell(begun, Said(text="go", kind="task"))


def started(number: int, budget: Budget) -> ChildStarted:
    name = f"run-{number}"
    return ChildStarted(
        number=number, run_id=name, journal=f"{name}.db", loop=LoopKind.GOAL, about="", title="x", budget=budget,
        call_id=f"call_1_{number}",
    )  # fmt: skip


def ended(number: int, reason: Reason = Reason.ANSWERED) -> ChildFinished:
    return ChildFinished(number=number, run_id=f"run-{number}", reason=reason, detail="", complete=True, exit_code=0)


def test_the_children_of_one_answer_share_three_quarters_of_what_is_left():
    facts = chat().tell(*(StepStarted(number=n) for n in range(1, 9))).facts
    assert share_of_call(facts, None, 1).steps == 24
    assert share_of_call(facts, None, 3) == Budget(steps=8, tokens=25_000, usd=0.25, seconds=150.0)


def test_what_an_open_child_has_not_used_is_reserved_and_what_it_leaves_goes_back():
    told = chat()
    told.tell(started(1, Budget(steps=30, tokens=75_000, usd=0.75, seconds=450.0)))
    told.tell(ChildSpent(run_id="run-1", spent=Spent(steps=10, tokens=Tokens(5_000, 0), usd=0.05)))
    assert share_of_call(told.facts, 90, 1).steps == 10
    assert share_of_call(told.facts, 90, 1).tokens == 25_000
    told.tell(ended(1))
    assert share_of_call(told.facts, 50, 1).steps == 15


def test_without_a_limit_of_steps_a_child_has_that_of_a_goal_run():
    share = share_of_call(chat(Budget(steps=None, tokens=None, usd=None, seconds=None)).facts, 50, 1)
    assert share == Budget(steps=40, tokens=None, usd=None, seconds=None)


def test_the_limits_of_the_tree_are_those_of_the_message_above_what_earlier_messages_used():
    told = chat()
    told.tell(*(StepStarted(number=n) for n in range(1, 11)))
    assert limits_of_tree(told.facts).steps == 40
    told.tell(Said(text="again", kind="say"))
    assert limits_of_tree(told.facts).steps == 50
    assert limits_of_tree(told.facts).usd == 1.0


def test_an_ended_child_that_the_model_started_is_not_opened_again():
    told = chat().tell(started(1, BUDGET), ended(1, Reason.ERROR), Unpaused())
    assert told.facts.common.children.open is None


@pytest.mark.parametrize(
    ("mode", "of_child"),
    [
        ("read", "read"),
        ("ask", "edits"),
        ("edits", "edits"),
        ("effects", "stage"),
        ("auto", "stage"),
        ("stage", "stage"),
    ],
)
def test_in_a_child_commands_start_only_if_they_start_in_the_chat(mode: str, of_child: str):
    assert gate_of_child(GateMode(mode)) is GateMode(of_child)


def test_a_child_gets_the_tools_of_the_chat_without_its_own_and_those_with_a_quota():
    facts = chat().facts
    every = tools_of_child(facts, StartChild("x", "do it"))
    assert "start_child" not in every and {"read_file", "edit_file", "run_command", "ask_person"} <= set(every)
    assert tools_of_child(facts, StartChild("x", "do it", tools=["search", "read_file"])) == ["read_file", "search"]
    with pytest.raises(ValueError, match="cannot have start_child, fly: choose among"):
        tools_of_child(facts, StartChild("x", "do it", tools=["start_child", "fly"]))


def test_a_child_that_would_have_no_tool_is_refused():
    told = chat(tools=["read_file"], gate=GatePolicy(mode=GateMode.ASK, quotas={"read_file": 3}))
    for tools in ([], ["read_file"]):
        with pytest.raises(ValueError, match="a child run"):
            tools_of_child(told.facts, StartChild("x", "do it", tools=tools))


@pytest.mark.parametrize(
    ("tools", "mode", "changes"),
    [
        (["read_file", "ask_person"], GateMode.AUTO, False),
        (["read_file", "run_command"], GateMode.AUTO, True),
        (["write_file"], GateMode.READ, False),
    ],
)
def test_only_a_child_with_tools_that_act_needs_a_stage(tools: list[str], mode: GateMode, changes: bool):
    assert can_change(tools, mode) is changes


def test_a_name_is_one_short_line_and_a_part_is_a_percentage():
    assert (
        shown_name(StartChild(" two\nlines ", "do it")) == "two lines"
        and shown_name(StartChild("", "do it")) == "do it"
    )
    assert len(shown_name(StartChild("x" * 500, "do it"))) == 60
    for part in (0, -1, 91, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="give a percentage"):
            StartChild("x", "do it", part=part)
    with pytest.raises(ValueError, match="`task` is empty"):
        StartChild("x", " \n")


@pytest.mark.parametrize(("in_text", "removed"), [(True, True), (False, False)])
def test_only_in_a_child_of_a_chat_a_rule_of_the_spec_can_be_removed(in_text: bool, removed: bool):
    rule = Rule(verdict="allow", tool="run_command", command="make")
    policy = GatePolicy(mode=GateMode.EDITS, rules=[rule])
    parent = ParentRef(run_id="p", journal="/p.db", number=1)
    told = Told(LoopKind.GOAL, BUDGET, gate=policy, parent=parent, answers_in_text=in_text)
    gate, recorder = Mock(), Mock(record=told.tell)
    refused = remove_rule(recorder, gate, told.facts, rule)
    assert (refused is None, rule not in told.facts.rules, gate.policy.remove.called) == (removed,) * 3


def test_a_message_with_nobody_there_answers_the_call_of_a_child_with_what_became_of_it(tmp_path: Path):
    journal = Journal.create(tmp_path / "run-1.db", chat().facts.spec)
    journal.append(StageBegan(folder="stage"))
    journal.append(RunEnded(reason=Reason.ANSWERED, detail="x", complete=True, exit_code=0, staged=["made.txt"]))
    journal.close()
    opened = played_events.proposal(call_id="call_1_1", asks=["effects"])
    begun = msgspec.structs.replace(started(1, BUDGET), journal=str(journal.path))
    told = chat().tell(begun, msgspec.structs.replace(ended(1), said="I made it."), opened)
    calls = [ToolCall(name, "start_child", "{}") for name in ("call_1_1", "call_1_2")]
    events = list[Any]()
    answer_with(Mock(facts=told.facts), calls, [opened], ("leave it", "person"), Mock(record=events.append))
    first, second = (event.result for event in events if isinstance(event, ToolFinished))
    assert "answered" in first and "I made it." in first and "said instead: leave it" in first
    assert "rundry apply run-1" in first and "not run" not in first
    assert second.startswith("not run")


@pytest.mark.parametrize(("has_end", "has_stage"), [(True, True), (False, True), (False, False)])
def test_a_message_with_nobody_there_records_the_end_of_a_child_that_has_none(
    tmp_path: Path, has_end: bool, has_stage: bool
):
    journal = Journal.create(tmp_path / "run-1.db", chat().facts.spec)
    if has_stage:
        journal.append(StageBegan(folder="stage"))
    if has_end:
        journal.append(RunEnded(reason=Reason.ANSWERED, detail="x", complete=True, exit_code=0, staged=["made.txt"]))
    journal.close()
    told = chat().tell(msgspec.structs.replace(started(1, BUDGET), journal=str(journal.path)))
    events, run = list[Any](), Mock(facts=told.facts)
    run.ctx.events.record = lambda event, **_: told.tell(event)
    answer_with(
        run, [ToolCall("call_1_1", "start_child", "{}")], [], ("leave it", "person"), Mock(record=events.append)
    )
    (child,) = told.facts.common.children.by_number.values()
    assert child.finished is not None and child.finished.reason is (Reason.ANSWERED if has_end else Reason.HANDOFF)
    assert share_of_call(told.facts, 90, 1).steps == 36, "its share is free again"
    (result,) = (event.result for event in events if isinstance(event, ToolFinished))
    assert ("rundry apply run-1" in result) is has_stage
