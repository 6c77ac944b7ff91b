"""Only leads that were sent to a lens count as told; with `[leads] work` each is worked within the budget of leads."""

from __future__ import annotations

import re

import pytest
from fakes.models.model_by_role import NOTHING, ModelByRole, report
from fakes.turns import Turn, call

from rundry.agent.protocol import LeadsSpec, ModelFault, Request
from rundry.agent.search.items.item_state import Item
from rundry.agent.search.lenses.lens_prompt import MOST_LEADS, sendable
from rundry.agent.settings.search.search_file import read_finder

OUT = ModelFault("bad-request", "no", retryable=True)
BROKEN = ModelFault("auth", "no", retryable=False)


def values(n: int) -> list[tuple[str, str]]:
    return [("value", f"lead {number}") for number in range(n)]


def sent(model: ModelByRole) -> set[str]:
    return {
        lead for r in model.requests for m in r.messages for lead in re.findall(r"- value (lead \d+)$", m.text, re.M)
    }


def done(run) -> dict[str, str]:
    ends = [e for e in run.of("work_finished") if e["kind"] == "item" and e["ok"]]
    return {e["about"]: e["reason"] for e in ends}


async def test_every_lead_that_counts_as_shown_was_in_a_prompt(search):
    """Seen before the fix: of 50 leads that were taken 40 were listed, and all 50 were done."""
    model = ModelByRole({"one": [report(items=values(55)), NOTHING], "two": [NOTHING]})
    run = search(model, "one", "two")
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("dry", True), run.story()
    assert len(done(run)) == 55
    assert sent(model) == set(done(run)), run.story()
    assert set(done(run).values()) == {"sent to one, two"}
    assert max(len(e["leads"]) for e in run.of("lens_briefed")) == MOST_LEADS


def test_leads_that_would_make_a_prompt_too_long_wait_for_the_next_pass():
    leads = [Item(f"k{n}", "value", "x" * 3_000, "one") for n in range(5)]
    assert len(sendable(leads)) == 2
    assert sendable([Item("k", "value", "x" * 50_000, "one"), *leads]) == [Item("k", "value", "x" * 50_000, "one")]
    assert sendable([]) == []


@pytest.mark.long
async def test_leads_of_a_pass_that_no_lens_ended_are_sent_in_the_next_one(search):
    model = ModelByRole({"one": [report(items=values(3)), OUT, OUT, OUT, OUT, NOTHING]})
    run = search(model, "one", retries=1)
    await run.run()
    resumed = await run.run()
    assert resumed.reason == "dry", run.story()
    assert len(done(run)) == 3


async def test_a_lens_that_failed_while_others_were_sent_leads_is_named_and_gets_them_on_resume(search):
    model = ModelByRole({"one": [report(items=values(2)), NOTHING], "bad": [NOTHING, BROKEN, NOTHING]})
    run = search(model, "one", "bad", retries=1)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.exit_code) == ("dry", False, 6), run.story()
    assert "lens bad: 2 leads were not sent to it" in outcome.detail
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("dry", True), run.story()
    later = [e["leads"] for e in run.of("lens_briefed") if e["name"] == "bad"]
    assert sorted(later[-1] or later[-2] or later[-3]) == ["lead 0", "lead 1"], later


class Working(ModelByRole):
    """Also works leads: `items` says what comes of each."""

    def __init__(self, lenses, items, **more):
        super().__init__(lenses, **more)
        self.items = items
        self.worked: list[str] = []

    def choose(self, request: Request) -> Turn | ModelFault:
        if "You work one item" not in request.messages[0].text:
            return super().choose(request)
        lead = request.messages[1].text.removeprefix("The item: ")
        if request.messages[-1].role == "user":
            self.worked.append(lead)
        return self.items(lead)


async def test_leads_are_worked_as_items_and_what_they_bring_counts(search):
    def items(lead):
        return report(f"found at {lead}", items=[("value", "lead 9")] if lead == "lead 0" else [])

    model = Working({"one": [report(items=values(2)), NOTHING]}, items)
    run = search(model, "one", leads=LeadsSpec(work=True))
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("dry", True), run.story()
    assert sorted(model.worked) == ["lead 0", "lead 1", "lead 9"]
    assert outcome.findings.confirmed == 3
    assert sent(model) == set(), "the lenses are not told of them"
    assert [(e["new"], e["dry_streak"]) for e in run.of("pass_finished")] == [(6, 0), (0, 1), (0, 2)]


async def test_leads_have_their_own_budget_and_what_it_left_is_named(search):
    model = Working({"one": [report(items=values(9)), NOTHING]}, lambda lead: call("read_file", path="a.txt"))
    run = search(model, "one", leads=LeadsSpec(work=True, steps=40), retries=0)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.exit_code) == ("dry", False, 6), run.story()
    steps = [e for e in run.of("step_started") if (e["work"] or "").startswith("item:")]
    assert 25 < len(steps) <= 40, "no lead begins whose 15 steps would not fit"
    assert re.search(r"\d leads were not worked: the 40 steps for leads are used up", outcome.detail)


async def test_a_lead_that_fails_is_worked_again_and_the_pass_waits_for_it(search):
    answers = iter([ModelFault("bad-request", "no", retryable=True)] * 2)
    model = Working({"one": [report(items=values(1)), NOTHING]}, lambda lead: next(answers, report("late")))
    run = search(model, "one", leads=LeadsSpec(work=True))
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("dry", True), run.story()
    assert outcome.findings.confirmed == 1
    assert [e["new"] for e in run.of("pass_finished")] == [2, 0, 0]


def test_a_spec_file_says_that_leads_are_worked(tmp_path):
    file = tmp_path / "search.toml"
    file.write_text('task = "t"\n[leads]\nwork = true\nsteps = 50\n[[lens]]\nname = "one"\nprompt = "look"\n')
    assert read_finder(file).finder.leads == LeadsSpec(work=True, steps=50)
