"""What a person does to a search at awkward moments: nothing is lost, nothing counts twice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.models.model_by_role import NOTHING, ModelByRole, judge, report
from fakes.turns import call

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    AddItem,
    AddLens,
    Budget,
    Interrupt,
    Judge,
    Merge,
    Pause,
    Say,
    SkipItem,
    Steer,
    StepOnce,
    Stop,
    Unpause,
)
from rundry.agent.run.commands.undo_after_end import handle_after_end
from rundry.agent.state.facts.checkpoint import facts_of

EIGHT = [f"l{n}" for n in range(8)]


def held(turn):
    """Says nothing until `model.released` is set, or someone ends it."""
    return replace(turn, hold_after=0)


async def test_one_unpause_is_enough_after_an_interrupt_that_hit_eight_together(search):
    model = ModelByRole({name: [held(NOTHING), NOTHING] for name in EIGHT})
    run = search(model, *EIGHT, budget=Budget(steps=200, tokens=None))
    run.on("call_admitted", Interrupt(), nth=16).on("paused", Unpause())
    outcome = await run.run(watched=True)
    assert (outcome.reason, outcome.complete) == ("dry", True), run.story()
    assert len(run.of("paused")) == 1, run.story()
    run.assert_legal()


async def test_a_steer_while_eight_lenses_search_reaches_all_and_pauses_nothing(search):
    model = ModelByRole({name: [held(NOTHING), NOTHING] for name in EIGHT})
    run = search(model, *EIGHT, budget=Budget(steps=200, tokens=None))
    run.on("call_admitted", Steer(text="look at the ends"), nth=16).on("paused", Unpause())
    outcome = await run.run(watched=True)
    assert (outcome.reason, outcome.complete) == ("dry", True), run.story()
    assert not run.of("paused"), run.story()
    told = [r.messages[-1].text for r in model.requests]
    assert sum("look at the ends" in text for text in told) >= 8


async def test_one_step_is_one_worker_not_all_of_them(search):
    model = ModelByRole({name: [NOTHING] for name in EIGHT})
    run = search(model, *EIGHT, budget=Budget(tokens=None))
    run.on("run_started", Pause(), StepOnce())
    run.on("step_finished", Stop(how="now"))
    await run.run(watched=True)
    assert len(run.of("work_started")) == 1, run.story()


def while_paused(run, kind):
    """Events of that type between the first pause and its end."""
    types = run.types()
    return types[types.index("paused") : types.index("unpaused")].count(kind)


LOOK = call("read_file", path="a.txt")


def paused_in_second_step(search, *names):
    """The person pauses while all of them are in their second step, which then comes to its end."""
    model = ModelByRole({name: [LOOK, held(LOOK), LOOK, LOOK, NOTHING] for name in names})
    run = search(model, *names, budget=Budget(steps=200, tokens=None))
    run.on("call_admitted", Pause(), nth=2 * len(names))
    return run.on("paused", lambda _: model.released.set() or SkipItem(key="none"))


async def test_a_pause_holds_lenses_between_two_of_their_steps(search):
    run = paused_in_second_step(search, *EIGHT)
    for nth in range(1, 10):  # the person has time to do other things
        run.on("command_refused", SkipItem(key="none"), nth=nth)
    run.on("command_refused", Unpause(), nth=10)
    outcome = await run.run(watched=True)
    assert (outcome.reason, outcome.complete) == ("dry", True), run.story()
    assert while_paused(run, "step_finished") == 8, run.story()
    assert while_paused(run, "step_started") == 0, run.story()
    assert while_paused(run, "work_finished") == 0, "a lens that rests is not at its end"
    run.assert_legal()


async def test_one_step_of_a_paused_lens_is_one_step(search):
    run = paused_in_second_step(search, "one", "two")
    run.on("step_finished", StepOnce(), nth=4).on("step_finished", SkipItem(key="none"), nth=5)
    run.on("command_refused", Unpause(), nth=2)
    outcome = await run.run(watched=True)
    assert outcome.reason == "dry", run.story()
    assert while_paused(run, "step_started") == 1, run.story()


async def test_lenses_that_rest_can_be_interrupted_and_continue_later(search):
    run = paused_in_second_step(search, "one", "two")
    run.on("step_finished", Interrupt(), nth=4).on("work_finished", Unpause(), nth=2, interrupted=True)
    outcome = await run.run(watched=True)
    assert (outcome.reason, outcome.complete) == ("dry", True), run.story()
    assert len(run.of("paused")) == 1, run.story()
    run.assert_legal()


async def test_a_stop_ends_lenses_that_rest(search):
    run = paused_in_second_step(search, "one", "two")
    run.on("step_finished", Stop(how="now"), nth=4)
    outcome = await run.run(watched=True)
    assert (outcome.reason, outcome.steps) == ("user", 4), run.story()
    assert [e["interrupted"] for e in run.of("work_finished")] == [True, True], run.story()


async def test_a_lead_that_a_person_skips_while_lenses_look_at_it_is_counted_once(search):
    lead = report(items=[("value", "x"), ("value", "y")])
    run = search(ModelByRole({"one": [lead, held(NOTHING), NOTHING]}), "one")
    run.on("pass_started", SkipItem(key="x"), nth=2)
    run.on("command_taken", lambda e: run.model.released.set() or Unpause(), command="skip_item")
    outcome = await run.run(watched=True)
    assert outcome.reason == "dry", run.story()
    done = [e["about"] for e in run.of("work_finished") if e["kind"] == "item"]
    assert done == ["y"], run.story()
    assert len(run.of("item_skipped")) == 1


async def test_votes_of_the_round_before_do_not_count_once_a_finding_was_sent_back(search):
    turns = iter([held(judge("refuted", "old")), held(judge("refuted", "old"))])
    model = ModelByRole(
        {"one": [report("x"), NOTHING]},
        sceptic=lambda key, nth: next(turns, judge("stands", "new")),
        evidence=[report({"title": "x", "detail": "seen"})],
    )
    run = search(model, "one", sceptics=2)
    run.on("call_admitted", Judge(key="title:x", verdict="evidence", reason="where?"), nth=3)
    run.on("finding_reopened", lambda e: model.released.set() or SkipItem(key="none"))
    outcome = await run.run(watched=True)
    assert outcome.reason == "dry", run.story()
    assert [e["reasons"] for e in run.of("finding_judged")] == [["new", "new"]], run.story()
    assert outcome.findings.confirmed == 1


async def test_two_findings_cannot_be_merged_into_each_other(search):
    run = search(ModelByRole({"one": [report("x", "y"), NOTHING]}), "one")
    run.on("run_ended", Merge(key="title:x", into="title:y"), Merge(key="title:y", into="title:x"))
    run.on("run_ended", Stop(how="now"), nth=2)
    outcome = await run.run(watched=True, linger=True)
    assert [e["why"] for e in run.of("command_refused")] == ["title:x is itself merged into title:y"], run.story()
    assert (outcome.findings.confirmed, outcome.findings.refuted) == (1, 1)


async def test_two_findings_that_verifiers_call_duplicates_of_each_other_are_one_and_not_none(search):
    twins = {"title:x": "title:y", "title:y": "title:x"}
    model = ModelByRole(
        {"one": [report("x"), NOTHING], "two": [report("y"), NOTHING]},
        sceptic=lambda key, nth: judge("duplicate", of=twins[key]),
    )
    run = search(model, "one", "two", sceptics=3)
    outcome = await run.run()
    assert (outcome.findings.confirmed, outcome.findings.refuted) == (1, 1), run.story()
    assert [e["new"] for e in run.of("pass_finished")] == [1, 0, 0]


async def test_what_a_person_says_after_the_end_is_looked_into_by_every_lens(search):
    model = ModelByRole({"one": [NOTHING], "two": [NOTHING]})
    run = search(model, "one", "two")
    run.on("run_ended", Say(text="look at the ends too")).on("run_ended", Stop(how="now"), nth=2)
    outcome = await run.run(watched=True, linger=True)
    assert outcome.reason == "dry", run.story()
    heard = [r for r in model.requests if "look at the ends too" in r.messages[-1].text]
    assert len(heard) == 2, run.story()


@pytest.mark.parametrize("verdict", ["confirmed", "refuted"])
async def test_a_verdict_of_a_person_moves_the_lens_counters_once(search, verdict):
    run = search(ModelByRole({"one": [report("x"), NOTHING]}), "one")
    run.on("run_ended", Judge(key="title:x", verdict="refuted"), Judge(key="title:x", verdict=verdict))
    run.on("run_ended", Stop(how="now"), nth=2)
    outcome = await run.run(watched=True, linger=True)
    expected = (1, 0) if verdict == "confirmed" else (0, 1)
    assert (outcome.findings.confirmed, outcome.findings.refuted) == expected, run.story()


async def test_an_item_or_a_lens_that_is_added_after_the_end_is_looked_at(search):
    model = ModelByRole({"one": [NOTHING], "more": [report("late"), NOTHING]})
    run = search(model, "one")
    run.on("run_ended", AddItem(kind="value", value="here")).on("run_ended", AddLens(name="more", prompt="p"), nth=2)
    run.on("run_ended", Stop(how="now"), nth=3)
    outcome = await run.run(watched=True, linger=True)
    assert [e["reason"] for e in run.of("run_ended")] == ["dry"] * 3, run.story()
    assert any("value here" in r.messages[-1].text for r in model.requests)
    assert outcome.findings.confirmed == 1


async def test_who_judges_by_a_part_of_a_key_gets_the_whole_one(search):
    model = ModelByRole({"a": [report("x"), NOTHING]})
    run = search(model, "a")
    run.on("finding_judged", Judge(key="x", verdict="refuted"), Judge(key="y", verdict="refuted"))
    await run.run(watched=True)
    whys = [event["why"] for event in run.of("command_refused")]
    assert whys == ["there is no finding x: did you mean title:x?", "there is no finding y"]


async def test_findings_of_a_search_that_has_ended_can_be_judged_merged_and_sent_back(search):
    """Nobody drives the run, and it stays as it ended."""
    run = search(ModelByRole({"one": [report("x", "y", "z"), NOTHING]}), "one")
    await run.run()
    view = Journal.open(run.path)
    view.inbox.put(Judge(key="title:x", verdict="refuted", reason="it is right"))
    view.inbox.put(Merge(key="title:z", into="title:y"))
    view.inbox.put(Judge(key="title:y", verdict="evidence", reason="where?"))
    view.inbox.put(Judge(key="title:nowhere", verdict="refuted"))
    view.inbox.put(SkipItem(key="x"))
    await handle_after_end(run.path)
    finder = facts_of(view).finder
    answers = [type(s.event).__name__ for s in view.read() if type(s.event).__name__.startswith("Command")]
    view.close()
    assert finder is not None
    assert answers == ["CommandTaken"] * 3 + ["CommandRefused"] * 2
    assert finder.findings["title:x"].verdict == "refuted"
    assert finder.findings["title:z"].duplicate_of == "title:y"
    assert finder.findings["title:y"].wants_evidence == "where?"
    outcome = await run.run()
    assert outcome.reason == "dry", run.story()
    assert (outcome.findings.confirmed, outcome.findings.refuted) == (1, 2), "a resumed run looks for the evidence"
