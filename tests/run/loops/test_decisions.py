import pytest

from rundry.agent.protocol import (
    Again,
    CheckFinished,
    Exhausted,
    Finish,
    LoopKind,
    ModelSpec,
    PredicateJudged,
    Predicates,
    Prompted,
    Reason,
    ReplyFinished,
    RunSpec,
    Said,
    StallDetected,
    Stamped,
    StepFinished,
    StepStarted,
    ToolCalled,
    ToolFinished,
    Wait,
    WorkResult,
)
from rundry.agent.run.loops.decider import decider
from rundry.agent.run.loops.shared.loop_state import LoopState
from rundry.agent.state.facts.run_facts import RunFacts


class Story:
    """Facts, told event by event."""

    def __init__(self, loop=LoopKind.GOAL, **predicates):
        spec = RunSpec(
            run_id="r",
            loop=loop,
            task="fix it",
            workspace="/w",
            model=ModelSpec(name="m"),
            predicates=Predicates(**predicates),
        )
        self.facts = RunFacts(spec)
        self.seq = 0

    def tell(self, *events):
        for event in events:
            self.seq += 1
            self.facts.apply(Stamped(self.seq, float(self.seq), self.facts.step or None, None, event))
        return self

    def task(self):
        return self.tell(Prompted(kind="system", text="s"), Said(text="fix it", kind="task"))

    def step(self, *inside, calls=1, finish="tool_calls"):
        number = self.facts.step + 1
        reply = ReplyFinished(finish=finish, calls=calls)
        return self.tell(StepStarted(number=number), reply, *inside, StepFinished(number=number))

    def decide(self, *results, **state):
        return decider(self.facts.spec.loop)(LoopState(self.facts, results, **state))


def check(command="pytest -q", passed=False, output="3 failed", **fields):
    code = 0 if passed else 1
    values = {"exit_code": code, "timed_out": False, "failing": None, **fields}
    return CheckFinished(command=command, passed=passed, output=output, **values)


def finish(ok=True):
    called = ToolCalled(call_id="c1", tool="finish", arguments={"answer": "all is well", "citations": ["a.py:1"]})
    return called, ToolFinished(call_id="c1", tool="finish", ok=ok, result="")


def text_of(decision):
    assert isinstance(decision, Again)
    return decision.works[0].prompt or ""


def test_a_goal_continues_while_its_check_fails_and_sends_its_output_to_the_model():
    story = Story(until=["pytest -q"]).task().step(check(output="E assert 1 == 2"))
    assert "E assert 1 == 2" in text_of(story.decide())
    assert "`pytest -q`" in text_of(story.decide())


def test_a_goal_is_done_when_its_check_passes_whatever_the_model_says():
    story = Story(until=["pytest -q"]).task().step(check(passed=True))
    decision = story.decide()
    assert decision == Finish(reason=Reason.DONE, detail="check passed: pytest -q")


def test_a_check_that_passes_before_the_first_step_is_already_met():
    decision = Story(until=["true"]).task().tell(check("true", passed=True)).decide()
    assert decision.reason is Reason.DONE
    assert "already met" in decision.detail


def test_all_checks_must_pass_unless_any_is_enough():
    both = [check("a", passed=True), check("b")]
    assert isinstance(Story(until=["a", "b"]).task().step(*both).decide(), Again)
    assert Story(until=["a", "b"], any=True).task().step(*both).decide().reason is Reason.DONE


def test_a_predicate_without_a_verdict_is_not_met():
    assert isinstance(Story(until=["a"], require=["run_command"]).task().step(check("a", passed=True)).decide(), Again)


def test_other_predicates_are_named_in_the_outcome():
    judged = PredicateJudged(name="until-file out.txt", passed=True, detail="")
    assert Story(until_file=["out.txt"]).task().step(judged).decide().detail == "until-file out.txt"


def test_silence_is_nudged_and_never_taken_for_done():
    story = Story(until=["pytest -q"]).task().step(check(), calls=0, finish="stop")
    decision = story.decide()
    assert decision.works[0].prompt_kind == "nudge"
    assert "`finish`" in text_of(decision)


def test_a_silence_that_was_answered_by_a_nudge_is_not_nudged_again_before_the_next():
    story = Story().task().step(calls=0, finish="stop")
    assert text_of(story.decide())
    story.tell(Prompted(kind="nudge", text="go on"))
    story.step(calls=1)
    assert text_of(story.decide()) == ""


def test_an_accepted_finish_without_any_predicate_is_an_answer():
    assert Story().task().step(*finish()).decide().reason is Reason.ANSWERED


def test_a_rejected_finish_ends_nothing():
    assert isinstance(Story().task().step(*finish(ok=False)).decide(), Again)


def test_an_accepted_finish_still_has_to_pass_the_check():
    story = Story(until=["pytest -q"]).task().step(*finish(), check())
    assert "not met yet" in text_of(story.decide())


def test_a_check_that_timed_out_is_never_called_failed():
    story = Story(until=["pytest -q"]).task().step(check(timed_out=True, exit_code=None, seconds=30.0))
    assert "timed out after 30 s" in text_of(story.decide())


def test_a_check_that_could_not_start_says_so():
    story = Story(until=["nope"]).task().step(check("nope", exit_code=None, error="no such folder"))
    assert "could not be started: no such folder" in text_of(story.decide())


def test_an_empty_budget_ends_with_a_wrap_up_its_limit_and_its_detail():
    end = Exhausted(resource="steps", detail="step budget: 40 of 40 steps")
    decision = Story().task().decide(WorkResult(exhausted=end))
    assert decision == Finish(reason=Reason.BUDGET, detail=end.detail, limit="steps", wrap_up=True)


def test_a_permanent_fault_is_an_error_that_says_whether_later_can_help():
    decision = Story().task().decide(WorkResult(fault="503", retryable=True))
    assert (decision.reason, decision.retryable) == (Reason.ERROR, True)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("repeat", Reason.STAGNATION),
        ("error", Reason.STAGNATION),
        ("cycle", Reason.OSCILLATION),
        ("oscillation", Reason.OSCILLATION),
        ("tool-errors", Reason.TOOL_ERRORS),
    ],
)
def test_a_stall_that_continues_ends_with_its_own_reason(kind, reason):
    stall = StallDetected(kind=kind, signature="read a.py", response="stop")
    assert Story().task().step(stall).decide().reason is reason


def test_a_stall_is_hinted_at_first():
    stall = StallDetected(kind="repeat", signature="read a.py", response="hint")
    assert "read a.py" in text_of(Story().task().step(stall).decide())


def test_a_stall_hands_off_where_that_was_asked_for():
    stall = StallDetected(kind="repeat", signature="read a.py", response="handoff")
    assert Story().task().step(stall).decide().reason is Reason.HANDOFF


def test_naive_takes_silence_for_an_end_and_calls_it_claimed():
    assert Story(LoopKind.NAIVE).task().step(calls=0, finish="stop").decide().reason is Reason.CLAIMED
    assert isinstance(Story(LoopKind.NAIVE).task().step(calls=1).decide(), Again)


def test_a_chat_waits_for_the_first_message():
    assert Story(LoopKind.CHAT).decide() == Wait(None, "message")


def test_a_chat_answers_and_then_waits_for_the_person():
    story = Story(LoopKind.CHAT).task()
    assert isinstance(story.decide(), Again)
    story.step(calls=1)
    assert isinstance(story.decide(), Again)
    story.step(calls=0, finish="stop")
    assert story.decide() == Wait(None, "message")
    assert isinstance(story.tell(Said(text="more")).decide(), Again)


def test_a_chat_outlives_a_fault():
    decision = Story(LoopKind.CHAT).task().decide(WorkResult(fault="401: wrong key"))
    assert decision == Wait(None, "message")


def test_the_same_failure_again_is_reported_in_one_line():
    story = Story(until=["pytest -q"]).task().step(check(output="E assert 1 == 2\n1 failed in 0.11s"))
    story.tell(Prompted(kind="check", text=text_of(story.decide())))
    story.step(check(output="E assert 1 == 2\n1 failed in 0.32s"))
    assert text_of(story.decide()) == "The check `pytest -q` fails exactly as before (exit code 1)."
    story.tell(Prompted(kind="check", text="as before")).step(check(output="E assert 3 == 2"))
    assert "E assert 3 == 2" in text_of(story.decide())
