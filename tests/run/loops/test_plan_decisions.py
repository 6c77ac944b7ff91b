"""The decisions of a run that makes a plan."""

from __future__ import annotations

import pytest
from run.loops.told import Told

from rundry.agent.protocol import (
    Again,
    CheckFinished,
    Decision,
    Exhausted,
    Finish,
    GoalTries,
    Interrupted,
    LoopKind,
    PlanAccepted,
    Predicates,
    Prompted,
    Reason,
    Said,
    ToolCalled,
    ToolFinished,
    Wait,
    WorkResult,
)
from rundry.agent.run.loops.plan import NUDGE

ACCEPTED = PlanAccepted(lines=["a"], check="pytest -q", run_id="r2")


def told() -> Told:
    return Told(LoopKind.PLAN).tell(Said(text="fix it", kind="task"))


def test_it_works_until_a_person_accepts_a_plan():
    run = told()
    assert isinstance(run.decide(), Again)
    run.step().tell(ToolCalled(call_id="c1", tool="propose_plan", arguments={}))
    run.tell(ACCEPTED, ToolFinished(call_id="c1", tool="propose_plan", ok=True, result="accepted"))
    end = run.decide()
    assert isinstance(end, Finish)
    assert (end.reason, end.detail) == (Reason.ANSWERED, "you accepted the plan; its check is pytest -q")


def test_a_message_after_the_acceptance_asks_for_another_plan():
    run = told().step().tell(ACCEPTED, Said(text="not so"))
    assert isinstance(run.decide(), Again)


def test_an_answer_in_words_gets_one_reminder_and_then_the_person_speaks():
    run = told().step(calls=0)
    first = run.decide()
    assert isinstance(first, Again)
    assert first.works[0].prompt == NUDGE
    run.tell(Prompted(kind="nudge", text=NUDGE)).step(calls=0)
    assert run.decide() == Wait(None, "message")
    run.tell(Said(text="the second one"))
    assert isinstance(run.decide(), Again)
    run.step(calls=0)
    assert isinstance(run.decide(), Again), "a new message gets a reminder of its own"


def test_an_interrupt_waits_for_the_person_and_a_used_up_limit_ends_the_run():
    assert told().tell(Interrupted(what="model")).decide() == Wait(None, "message")
    used = WorkResult(work=None, steps=0, exhausted=Exhausted(resource="steps", detail="40 of 40 steps"))
    end = told().decide(used)
    assert isinstance(end, Finish)
    assert (end.reason, end.limit) == (Reason.BUDGET, "steps")


def test_a_fault_of_the_model_waits_for_the_person_and_nobody_there_is_a_hand_off():
    assert told().decide(WorkResult(work=None, steps=1, fault="no key")) == Wait(None, "message")
    end = told().decide(WorkResult(work=None, steps=1, handoff="someone has to approve: propose_plan"))
    assert isinstance(end, Finish)
    assert end.reason is Reason.HANDOFF


def carried(passed: bool, **spec: object) -> Told:
    """Tell a run that carries out a plan the verdict of its check before the first step."""
    run = Told(LoopKind.GOAL, predicates=Predicates(until=["make"]), plan_of="r1", **spec)
    return run.tell(Said(text="fix it", kind="task"), checked(passed))


def checked(passed: bool) -> CheckFinished:
    code = 0 if passed else 1
    return CheckFinished(command="make", passed=passed, exit_code=code, timed_out=False, failing=None, output="")


def end_of(decision: Decision) -> Reason:
    assert isinstance(decision, Finish)
    return decision.reason


@pytest.mark.parametrize(("before", "ends"), [(True, False), (False, True)])
def test_a_message_before_the_first_step_does_not_change_what_held_before_it(before: bool, ends: bool):
    run = carried(before).tell(Said(text="use tabs")).step().tell(checked(True))
    assert isinstance(run.decide(), Finish) is ends


def test_a_message_before_the_tries_does_not_change_that_the_check_selects_none():
    run = carried(True, tries=GoalTries(tries=2)).tell(Said(text="use tabs"))
    assert end_of(run.decide()) is Reason.REFUSED


def claims(run: Told, *verdicts: bool) -> Told:
    """Let the model call `finish`, and the check give these verdicts after it."""
    run.step().tell(ToolCalled(call_id=f"c{run.facts.step}", tool="finish", arguments={"answer": "done"}))
    run.tell(ToolFinished(call_id=f"c{run.facts.step}", tool="finish", ok=True, result=""))
    return run.tell(*(checked(verdict) for verdict in verdicts))


def test_a_claim_that_the_check_refused_ends_no_plan_when_the_check_passes_again():
    run = claims(carried(True), False)
    again = run.decide()
    assert isinstance(again, Again)
    run.tell(Prompted(kind="check", text=again.works[0].prompt or "")).step().tell(checked(True))
    assert isinstance(run.decide(), Again)
    assert end_of(claims(run, True).decide()) is Reason.ANSWERED
