"""A search by lenses runs until dry, and not a pass longer or shorter."""

import pytest
from fakes.models.model_by_role import NOTHING, ModelByRole, judge, report
from fakes.turns import call, say

from rundry.agent.protocol import Budget, ModelFault

OUT = ModelFault("bad-request", "no", retryable=True)


async def test_a_search_ends_dry_after_two_empty_passes(search):
    run = search(ModelByRole({"one": [report("x is wrong"), NOTHING], "two": [NOTHING]}), "one", "two")
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.exit_code) == ("dry", True, 0), run.story()
    assert [(e["new"], e["dry_streak"]) for e in run.of("pass_finished")] == [(1, 0), (0, 1), (0, 2)]
    assert outcome.passes == 3
    assert (outcome.findings.confirmed, outcome.findings.refuted) == (1, 0)
    assert "x is wrong" in outcome.answer


async def test_a_finding_that_was_refuted_never_resets_the_streak_twice(search):
    """The classic mistake: dedup against what was confirmed."""
    model = ModelByRole({"one": [report("x is wrong")]}, sceptic=lambda key, nth: judge("refuted", "it is right"))
    run = search(model, "one")
    outcome = await run.run()
    assert outcome.reason == "dry", run.story()
    assert [(e["new"], e["dry_streak"]) for e in run.of("pass_finished")] == [(1, 0), (0, 1), (0, 2)]
    assert len(run.of("finding_reported")) == 1
    assert [e["source"] for e in run.of("item_duplicate")] == ["one", "one"]
    assert run.of("finding_judged")[0]["reasons"] == ["it is right"]


async def test_a_failed_lens_is_not_an_empty_one(search):
    """The other classic mistake: a failure read as nothing found."""
    model = ModelByRole({"one": [OUT, OUT, report("late"), NOTHING], "two": [NOTHING]})
    run = search(model, "one", "two")
    outcome = await run.run()
    assert outcome.reason == "dry", run.story()
    assert outcome.findings.confirmed == 1
    assert [e["dry_streak"] for e in run.of("pass_finished")] == [0, 1, 2]


async def test_a_pass_in_which_a_lens_failed_permanently_is_not_dry(search):
    run = search(ModelByRole({"one": [NOTHING], "bad": [OUT]}), "one", "bad", retries=1)
    await run.run()
    first, *_ = run.of("pass_finished")
    assert (first["number"], first["new"], first["dry_streak"]) == (1, 0, 0), run.story()


@pytest.mark.long
async def test_a_lens_that_always_fails_is_named_and_the_run_is_dry_but_not_complete(search):
    run = search(ModelByRole({"one": [report("x"), NOTHING], "bad": [OUT]}), "one", "bad", retries=1)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.exit_code) == ("dry", False, 6), run.story()
    assert "lens bad" in outcome.detail
    assert [e["text"] for e in run.of("critic_spoke") if e["lenses"]] == [
        "bad failed: one more attempt before the search is dry"
    ]


@pytest.mark.long
async def test_where_every_lens_fails_the_run_is_an_error_and_never_dry(search):
    run = search(ModelByRole({"one": [OUT]}), "one", retries=1)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("error", False), run.story()
    assert "every lens failed" in outcome.detail


async def test_a_majority_of_verifiers_decides_and_their_reasons_are_kept(search):
    def sceptic(key, nth):
        return judge("stands", "I could not") if key == "title:x" or nth == 1 else judge("refuted", f"no {nth}")

    run = search(ModelByRole({"one": [report("x", "y"), NOTHING]}, sceptic=sceptic), "one", sceptics=3)
    outcome = await run.run()
    judged = {e["key"]: e for e in run.of("finding_judged")}
    assert judged["title:x"]["verdict"] == "confirmed"
    assert judged["title:y"]["verdict"] == "refuted"
    assert sorted(judged["title:y"]["reasons"]) == ["I could not", "no 2", "no 3"]
    assert (judged["title:y"]["stands"], judged["title:y"]["votes"]) == (1, 3)
    assert (outcome.findings.confirmed, outcome.findings.refuted) == (1, 1)


async def test_a_verifier_sees_the_finding_in_a_fresh_context_with_reading_tools_only(search):
    model = ModelByRole({"one": [report({"title": "x", "evidence": "a.txt:2"}), NOTHING]})
    await search(model, "one").run()
    asked = next(r for r in model.requests if "Try to refute" in r.messages[0].text)
    assert len(asked.messages) == 2
    assert "a.txt:2" in asked.messages[1].text
    assert [tool.name for tool in asked.tools] == ["read_file", "list_files", "search", "judge"]


async def test_what_a_verifier_calls_a_duplicate_does_not_reset_the_streak(search):
    def sceptic(key, nth):
        return judge("duplicate", of="title:x") if key == "title:x said otherwise" else judge("stands")

    model = ModelByRole({"one": [report("x"), report("x, said otherwise"), NOTHING]}, sceptic=sceptic)
    run = search(model, "one")
    await run.run()
    assert [(e["new"], e["dry_streak"]) for e in run.of("pass_finished")] == [(1, 0), (0, 1), (0, 2)], run.story()
    assert run.of("finding_judged")[-1]["duplicate_of"] == "title:x"


async def test_two_spellings_of_a_place_are_one_finding(search):
    first = {"title": "x is wrong", "evidence": "a.txt:2"}
    again = {"title": "X is  wrong.", "evidence": "./a.txt:2"}
    run = search(ModelByRole({"one": [report(first), NOTHING], "two": [report(again), NOTHING]}), "one", "two")
    await run.run()
    assert len(run.of("finding_reported")) == 1, run.story()
    assert len(run.of("item_duplicate")) == 1


async def test_the_models_word_is_kept_but_only_keys_count(search):
    run = search(ModelByRole({"one": [report("x"), report("x", new=True)]}), "one")
    outcome = await run.run()
    assert outcome.reason == "dry"
    words = [(e["new"], e["found_new"]) for e in run.of("work_finished") if e["kind"] == "lens"]
    assert words == [(1, True), (0, True), (0, True)]


async def test_a_lens_that_says_nothing_reads_how_to_end_and_fails_when_its_steps_are_used_up(search):
    run = search(ModelByRole({"one": [say("hm"), NOTHING], "two": [NOTHING]}), "one", "two")
    outcome = await run.run()
    assert outcome.reason == "dry"
    assert any("call `report`" in e["text"] for e in run.of("prompted"))


async def test_the_budget_ends_a_search_that_never_runs_dry_and_it_is_never_called_dry(search):
    count = iter(range(10_000))
    run = search(ModelByRole({"one": [lambda _: report(f"number {next(count)}")]}), "one", budget=Budget(steps=12))
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.steps) == ("budget", False, 12), run.story()
    assert "step budget" in outcome.detail


async def test_the_critic_is_asked_before_an_empty_streak_is_trusted_and_its_lens_runs_once(search):
    proposal = call("propose", reason="nobody looked at the ends", lens={"name": "ends", "prompt": "look at the ends"})
    model = ModelByRole(
        {"one": [report("x"), NOTHING], "ends": [report("y")]},
        critic=[proposal, call("propose", reason="nothing is missing")],
    )
    run = search(model, "one", critic=True)
    outcome = await run.run()
    assert outcome.reason == "dry", run.story()
    assert outcome.findings.confirmed == 2
    assert model.asked.count("lens ends") == 1
    assert model.asked.count("critic") == 2
    assert [e["lenses"] for e in run.of("critic_spoke") if e["half"] == "model"] == [["ends"], []]


async def test_calls_that_run_in_parallel_never_pass_a_token_limit(search):
    lenses = [f"l{i}" for i in range(8)]
    count = iter(range(10_000))
    model = ModelByRole({name: [lambda _: report(f"number {next(count)}")] for name in lenses})
    run = search(model, *lenses, budget=Budget(tokens=40_000), sceptics=3)
    outcome = await run.run()
    assert outcome.reason == "budget", run.story()
    assert outcome.tokens.in_ + outcome.tokens.out <= 40_000


async def test_a_lens_that_the_critic_proposes_under_a_known_name_runs_under_a_name_of_its_own(search):
    """Seen before the fix: it was dropped, and the run was complete."""
    proposal = call("propose", reason="the ends", lens={"name": "one", "prompt": "look at the ends"})
    again = call("propose", reason="still the ends", lens={"name": "one", "prompt": "Look at  the ends"})
    model = ModelByRole({"one": [report("x"), NOTHING], "one-2": [report("y")]}, critic=[proposal, again])
    run = search(model, "one", critic=True)
    outcome = await run.run()
    assert outcome.reason == "dry", run.story()
    assert outcome.findings.confirmed == 2
    assert [(e["name"], e["prompt"]) for e in run.of("lens_added")] == [("one-2", "look at the ends")]
    assert model.asked.count("lens one-2") == 1
    spoken = [(e["lenses"], e["text"]) for e in run.of("critic_spoke") if e["half"] == "model"]
    assert spoken == [(["one-2"], "the ends"), ([], "still the ends: one-2 has this prompt already")]


async def test_a_critic_that_proposes_a_lens_for_every_reworded_finding_ends_too(search):
    """A finding judged as a duplicate is not a discovery, after which the critic would be asked again."""
    count = iter(range(10_000))

    def proposal(_):
        return call("propose", reason="more", lens={"name": "one", "prompt": f"look {next(count)}"})

    def reworded(_):
        return report(f"x in words {next(count)}")

    model = ModelByRole(
        {"one": [report("x"), NOTHING], **{f"one-{n}": [reworded] for n in range(2, 30)}},
        sceptic=lambda key, nth: judge("stands") if key == "title:x" else judge("duplicate", of="title:x"),
        critic=[proposal],
    )
    run = search(model, "one", critic=True)
    outcome = await run.run()
    assert outcome.reason == "dry", run.story()
    assert model.asked.count("critic") == 1
