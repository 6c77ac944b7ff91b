"""A search that is resumed after an end, at a limit, or with models that are not there."""

from __future__ import annotations

import re
import time

import pytest
from fakes.in_process.driven import Driven
from fakes.models.model_by_role import NOTHING, ModelByRole, judge, report
from fakes.turns import call

from rundry.agent import ViewState, reduce
from rundry.agent.protocol import (
    AddLens,
    Budget,
    FinderSpec,
    FindingReported,
    Lens,
    LoopKind,
    ModelFault,
    Say,
    Stamped,
    ToolCalled,
    ToolFinished,
    Unpause,
    UserError,
)
from rundry.agent.run.client.start_request import ResumeChanges
from rundry.agent.search.search_state import FinderState, works
from rundry.agent.state.facts.run_facts import RunFacts
from rundry.agent.state.search.finder_facts import FinderFacts

OUT = ModelFault("server", "out of order", retryable=True)
GONE = ModelFault("auth", "the key is refused", retryable=False)


def by_models(search, tmp_path, place, budget=None, **more) -> Driven:
    """Two lenses: one at the run's model, `own` at a model of its own."""
    run = search(ModelByRole({"one": [report("x"), NOTHING], "own": [report("y"), NOTHING]}), "one", budget=budget)
    lenses = [Lens(name="one", prompt="p"), Lens(name="own", prompt="p", model="other/small")]
    spec = FinderSpec(lenses=lenses, sceptics=1, critic=False, retries=0)
    return Driven(tmp_path / "runs", place, run.model, task="t", loop=LoopKind.UNTIL_DRY, finder=spec, **more)


async def test_a_lens_answers_at_its_own_model_and_is_metered_apart(search, tmp_path, place):
    run = by_models(search, tmp_path, place)
    other = ModelByRole({"own": [report("y"), NOTHING]}, name="other/small")
    run.open_model = lambda spec: other if spec.name == "other/small" else run.model
    outcome = await run.run()
    assert (outcome.reason, outcome.findings.confirmed) == ("dry", 2), run.story()
    assert {e["work"] for e in run.of("charged") if e["model"] == "other/small"} == {"lens:own"}
    assert set(other.asked) == {"lens own"}


async def test_a_lens_whose_model_cannot_be_opened_fails_by_name_and_the_others_continue(search, tmp_path, place):
    run = by_models(search, tmp_path, place)

    def open_model(spec):
        if spec.name == "other/small":
            raise UserError("no such model")
        return run.model

    run.open_model = open_model
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.findings.confirmed) == ("dry", False, 1), run.story()
    assert "lens own: its model other/small: no such model" in outcome.detail


async def test_a_lens_whose_model_has_no_price_does_not_slip_past_a_limit_in_usd(search, tmp_path, place):
    run = by_models(search, tmp_path, place, usd_asked=True)
    other = ModelByRole({"own": [report("y"), NOTHING]}, name="other/small", price=None)
    run.open_model = lambda spec: other if spec.name == "other/small" else run.model
    outcome = await run.run()
    assert not other.asked and outcome.reason == "dry" and not outcome.complete, run.story()
    assert "no price is known" in outcome.detail


async def test_where_every_lens_failed_a_resume_asks_them_again(search):
    run = search(ModelByRole({"one": [GONE, GONE, report("x"), NOTHING]}), "one")
    assert (await run.run()).reason == "error", run.story()
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.findings.confirmed) == ("dry", True, 1), run.story()


async def test_where_every_lens_failed_continuing_asks_them_again(search):
    run = search(ModelByRole({"one": [GONE, GONE, report("x"), NOTHING]}), "one")
    run.on("paused", Unpause())
    outcome = await run.run(watched=True)
    assert (outcome.reason, outcome.complete, outcome.findings.confirmed) == ("dry", True, 1), run.story()
    assert len(run.of("paused")) == 1


async def test_resume_of_a_dry_run_tries_once_more_what_failed_in_it(search):
    sceptics = iter([GONE, judge("stands")])
    model = ModelByRole(
        {"one": [report("x"), NOTHING], "bad": [GONE, GONE, report("y"), NOTHING]},
        sceptic=lambda key, nth: next(sceptics, judge("stands")),
    )
    run = search(model, "one", "bad", retries=0)
    first = await run.run()
    assert (first.reason, first.complete) == ("dry", False), run.story()
    assert "lens bad" in first.detail and "1 finding could not be judged" in first.detail
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.findings.confirmed) == ("dry", True, 2), run.story()
    asked = len(model.asked)
    again = await run.run()
    assert (again.reason, again.complete, len(model.asked)) == ("dry", True, asked), "a complete run has nothing to do"


async def test_a_critic_that_cannot_be_asked_leaves_the_search_incomplete(search):
    model = ModelByRole({"one": [report("x"), NOTHING]}, critic=[GONE, call("propose", reason="nothing is missing")])
    run = search(model, "one", critic=True, retries=0)
    first = await run.run()
    assert (first.reason, first.complete) == ("dry", False), run.story()
    assert "the critic could not be asked" in first.detail
    assert (await run.run()).complete


async def test_a_hint_on_resume_reaches_every_lens(search):
    model = ModelByRole({"one": [report("x"), NOTHING], "two": [NOTHING]})
    run = search(model, "one", "two")
    await run.run()
    before = len(model.asked)
    await run.run(changes=ResumeChanges(hint="look at the ends"))
    assert sorted(model.asked[before:]) == ["lens one", "lens two"], run.story()
    assert "look at the ends" in run.heard()


@pytest.mark.long
async def test_a_retry_that_is_due_after_the_deadline_is_not_waited_for(search):
    late = ModelFault("server", "no", retryable=True)
    model = ModelByRole({"one": [NOTHING], "bad": [late]})
    run = search(model, "one", "bad", budget=Budget(deadline=time.time() + 6, seconds=None))
    outcome = await run.run()
    assert outcome.reason == "budget", run.story()
    assert re.search(r"is due in|: \d\S* s until the deadline", outcome.detail), "it ended while there was time"


@pytest.mark.long
async def test_a_lens_that_is_added_while_a_retry_is_waited_for_begins_immediately(search):
    cut = ModelFault("cut", "the answer was cut", retryable=True)  # may be billed, so it gets three more tries
    model = ModelByRole({"one": [cut, cut, cut, cut, NOTHING], "new": [report("x"), NOTHING]})
    run = search(model, "one")
    run.on("work_finished", AddLens(name="new", prompt="p"), ok=False)
    outcome = await run.run()
    assert (outcome.reason, outcome.findings.confirmed) == ("dry", 1), run.story()


async def test_steps_that_are_raised_on_resume_continue_without_asking_twice(search):
    model = ModelByRole({f"l{n}": [report(f"f{n}"), NOTHING] for n in range(8)})
    run = search(model, *(f"l{n}" for n in range(8)), budget=Budget(steps=5, tokens=None), sceptics=3)
    first = await run.run()
    assert (first.reason, first.steps, first.complete) == ("budget", 5, False), run.story()
    outcome = await run.run(changes=ResumeChanges(limits={"steps": 400}))
    assert (outcome.reason, outcome.complete, outcome.findings.confirmed) == ("dry", True, 8), run.story()
    votes = [(e["key"], e["by"]) for e in run.of("vote_cast")]
    assert len(votes) == len(set(votes)) == 24
    run.assert_legal()


async def test_a_message_is_not_lost_where_the_budget_ends_before_a_lens_hears_it(search):
    model = ModelByRole({"one": [NOTHING]})
    run = search(model, "one", budget=Budget(steps=1))
    run.on("step_started", Say(text="look at the ends"))
    assert (await run.run()).reason == "budget", run.story()
    await run.run(changes=ResumeChanges(limits={"steps": 20}))
    assert any("look at the ends" in run.heard(n) for n in range(len(model.requests))), run.story()


async def test_the_board_knows_what_the_runner_knows_at_every_event(search):
    """Two folds of one journal: what the loop decides from, and what the person sees."""
    run = search(ModelByRole({"one": [GONE, GONE, report("x"), NOTHING], "two": [GONE, NOTHING]}), "one", "two")
    run.on("pass_finished", Say(text="look at the ends"))
    await run.run()
    await run.run(changes=ResumeChanges(hint="once more"))
    facts, view = RunFacts(run.spec), ViewState()
    for stamped in run.stamped:
        facts.apply(stamped)
        reduce(view, stamped)
        assert view.finder == facts.finder, stamped


async def test_thousands_of_findings_that_wait_do_not_make_a_decision_slow(search):
    """Each is asked about thrice: a decision that looked at all of them would cost minutes in all."""
    facts, spec = FinderFacts.of(FinderSpec(lenses=[Lens(name="one", prompt="p")])), FinderSpec()
    for n in range(5_000):
        event = FindingReported(key=f"k{n}", title=f"t{n}", source="one")
        facts.apply(Stamped(n + 1, 1.0, None, None, event))
    state = FinderState(spec=spec, facts=facts, ready=[], item_in=None, now=2.0)
    began = time.process_time()
    for _ in range(20):
        assert len(works(state)) == spec.concurrency
        assert state.is_judging and state.due_in is None
    assert time.process_time() - began < 20 * 0.015


def test_what_is_kept_of_the_calls_of_a_long_search_does_not_grow_with_them(search):
    facts = RunFacts(search(ModelByRole({}), "one").spec)
    for n in range(500):
        called = ToolCalled(call_id=f"call{n}", tool="read_file", arguments={"path": "a.txt"})
        finished = ToolFinished(call_id=f"call{n}", tool="read_file", ok=True, result="x" * 400)
        facts.apply(Stamped(2 * n + 1, 1.0, n, "lens:one", called))
        facts.apply(Stamped(2 * n + 2, 1.0, n, "lens:one", finished))
    whole = [action for action in facts.actions if action.result]
    assert len(whole) == 200 and whole[-1].call_id == "call499"
    assert sum(action.ok is not None for action in facts.actions) == 500, "quotas count them all"
