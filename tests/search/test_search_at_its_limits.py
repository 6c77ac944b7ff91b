"""Limits hold while many search at once, and a search that met one never says that it is dry."""

from __future__ import annotations

from dataclasses import replace

from fakes.models.model_by_role import NOTHING, ModelByRole, report
from fakes.turns import call

from rundry.agent.protocol import Budget, Price, SetLimit, Stop, Undo

EIGHT = [f"l{n}" for n in range(8)]


def held(turn):
    return replace(turn, hold_after=0)


async def test_calls_that_run_in_parallel_never_pass_a_limit_in_usd(search):
    count = iter(range(10_000))
    price = Price(input=2e-6, output=8e-6, cached=2e-6, worst_input=2e-6, worst_output=8e-6)
    model = ModelByRole({name: [lambda _: report(f"number {next(count)}")] for name in EIGHT}, price=price)
    run = search(model, *EIGHT, budget=Budget(usd=0.6, tokens=None, steps=400), sceptics=3)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("budget", False), run.story()
    assert 0 < outcome.usd <= 0.6
    assert price.bill(model.billed) <= 0.6


async def test_a_limit_that_is_lowered_under_what_was_spent_ends_it_and_raised_again_it_continues(search):
    model = ModelByRole({"one": [report("x"), report("y"), report("z"), NOTHING]})
    run = search(model, "one")
    run.on("pass_finished", SetLimit(name="steps", value=1))
    run.on("run_ended", SetLimit(name="steps", value=50)).on("run_ended", Stop(how="now"), nth=2)
    outcome = await run.run(watched=True, linger=True)
    assert [e["reason"] for e in run.of("run_ended")] == ["budget", "dry"], run.story()
    assert outcome.findings.confirmed == 3


async def test_an_immediate_stop_while_eight_search_ends_them_all(search):
    run = search(ModelByRole({name: [held(NOTHING)] for name in EIGHT}), *EIGHT, budget=Budget(tokens=None))
    run.on("call_admitted", Stop(how="now"), nth=8)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("user", False), run.story()
    ended = [e for e in run.of("work_finished") if e["interrupted"]]
    assert len(ended) == 8


async def test_a_quota_that_one_lens_uses_up_ends_the_search_as_a_budget(search):
    look = call("read_file", path="a.txt")
    run = search(ModelByRole({"one": [look], "two": [NOTHING]}), "one", "two", quotas={"read_file": "3/run"})
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("budget", False), run.story()
    assert "read_file" in outcome.detail


async def test_a_lens_that_goes_in_circles_fails_alone(search):
    look = call("read_file", path="a.txt")
    run = search(ModelByRole({"one": [look], "two": [report("x"), NOTHING]}), "one", "two", retries=0)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.findings.confirmed) == ("dry", False, 1), run.story()
    assert "lens one: the model repeated itself" in outcome.detail


async def test_a_search_that_changes_nothing_has_nothing_to_undo_and_says_so(search):
    run = search(ModelByRole({"one": [report("x"), NOTHING]}), "one")
    run.on("pass_finished", Undo())
    outcome = await run.run(watched=True)
    assert outcome.reason == "dry" and outcome.files_changed == [], run.story()
    assert [e["why"] for e in run.of("command_refused")], run.story()
