"""A plan at the gate: a person accepts it in every mode, edits it, or says what should be different."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rundry.agent.gate.draft import PlanDraft, digest_of_draft
from rundry.agent.protocol import (
    GateMode,
    GatePolicy,
    LoopKind,
    ModelSpec,
    ProposalDecided,
    ProposalOpened,
    Rule,
    RunSpec,
)
from rundry.agent.protocol.text.plan_text import Plan, plan_text
from rundry.agent.settings.plan_spec import spec_of_planning
from rundry.agent.step.checks.check_of_plan import with_check_run

PLAN = Plan(["Read calc/core.py.", "Return a + b in add()."], "pytest -q")
DRAFT = PlanDraft(tool="propose_plan", plan=PLAN)


@pytest.mark.parametrize("mode", list(GateMode))
async def test_a_plan_waits_for_a_person_in_every_mode_and_whatever_the_rules_are(place, mode: GateMode):
    gate = place.gate(mode, [Rule(verdict="allow", tool="propose_plan"), Rule(verdict="deny", tool="propose_plan")])
    task = await place.begin(gate, DRAFT)
    (opened,) = place.of(ProposalOpened)
    assert (opened.plan, opened.path, opened.command, opened.rule) == (plan_text(PLAN), None, None, None)
    assert opened.asks == ["its check decides when the task is done"]
    assert place.blobs[opened.after] == plan_text(PLAN).encode()
    assert gate.decide(place.decide("approve", always=True)) is not None
    assert gate.decide(place.decide("approve", session=True)) is not None
    assert gate.decide(place.decide("approve")) is None
    ruling = await task
    assert ruling.approved
    assert ruling.after == plan_text(PLAN).encode()
    assert place.of(ProposalDecided)[0].after is None


async def test_an_edited_plan_is_accepted_as_the_person_wrote_it(place):
    gate = place.gate()
    task = await place.begin(gate, DRAFT)
    assert gate.decide(place.decide("approve", text="- Only this.\ncheck: make test\n")) is None
    ruling = await task
    assert ruling.after == plan_text(Plan(["Only this."], "make test")).encode()
    (decided,) = place.of(ProposalDecided)
    assert (decided.decision, decided.by, decided.reason) == ("approve", "person", "the person changed the plan")
    assert place.blobs[decided.after] == ruling.after


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "has no steps"), ("Check: make\n", "has no steps"), ("1. a\nCheck: make\nmake test\n", "one line")],
)
async def test_what_is_not_a_plan_is_not_accepted_and_the_plan_still_waits(place, text: str, why: str):
    gate = place.gate()
    task = await place.begin(gate, DRAFT)
    assert why in (gate.decide(place.decide("approve", text=text)) or "")
    assert not task.done()
    gate.decide(place.decide("approve"))
    assert (await task).approved


class NoMake:
    def problem_of(self, command: str) -> str | None:
        return "make: command not found" if command.startswith("make") else None


async def test_a_check_that_could_never_pass_is_not_accepted(place):
    gate = place.gate()
    task = await place.begin(gate, PlanDraft(tool="propose_plan", plan=PLAN, checks=NoMake()))
    assert gate.decide(place.decide("approve", text="1. a\nCheck: make test\n")) == "make: command not found"
    assert not task.done()
    assert gate.decide(place.decide("approve", text="1. a\nCheck: pytest\n")) is None
    assert (await task).approved


async def test_a_check_can_be_removed_but_not_added_to_one_that_the_person_set(place):
    gate = place.gate()
    task = await place.begin(gate, DRAFT)
    gate.decide(place.decide("approve", text="1. a\n\nCheck:\n"))
    assert (await task).after == b"1. a\n\nCheck:\n"
    task = await place.begin(gate, PlanDraft(tool="propose_plan", plan=Plan(["a"]), decides="pytest -q"))
    opened = place.of(ProposalOpened)[-1]
    assert opened.plan == "1. a\n"
    assert opened.asks == ["you set what decides when the task is done: pytest -q"]
    assert "is set already: pytest -q" in (gate.decide(place.decide("approve", text="1. a\nCheck: true\n")) or "")
    gate.decide(place.decide("approve"))
    await task


async def test_a_rejected_plan_tells_the_model_what_should_be_different(place):
    gate = place.gate()
    for reason, told in (("keep mean() as it is", "The person says: keep mean() as it is"), (None, "ask_person")):
        task = await place.begin(gate, DRAFT)
        gate.decide(place.decide("reject", reason=reason))
        ruling = await task
        assert not ruling.approved
        assert ruling.note_for_model.startswith("the plan was not accepted. ")
        assert told in ruling.note_for_model


async def test_a_client_cannot_accept_a_plan_and_can_reject_it(place):
    gate = place.gate()
    task = await place.begin(gate, DRAFT)
    assert "only a person" in (gate.decide(place.decide("approve", by="mcp:other")) or "")
    assert gate.decide(place.decide("reject", by="mcp:other")) is None
    assert not (await task).approved


def test_the_digest_is_that_of_the_whole_text_and_of_what_decides():
    others = [Plan(PLAN.lines, "true"), Plan([*PLAN.lines, "more"], PLAN.check), Plan(PLAN.lines)]
    digests = {digest_of_draft(PlanDraft(tool="propose_plan", plan=plan), None) for plan in (PLAN, *others)}
    digests.add(digest_of_draft(PlanDraft(tool="propose_plan", plan=PLAN, decides="pytest"), None))
    assert len(digests) == 5


class Started(Exception):
    """A check would have begun."""


class NoEvents:
    def record(self, event: object) -> None:
        raise Started


@pytest.mark.parametrize("mode", [GateMode.EFFECTS, GateMode.STAGE])
async def test_a_check_starts_before_the_acceptance_by_a_mode_that_was_chosen_or_by_a_rule(place, mode: GateMode):
    async def starts(*rules: Rule, falls_back: bool) -> bool:
        policy = GatePolicy(mode=mode, falls_back=falls_back)
        then = RunSpec(run_id="r", loop=LoopKind.GOAL, task="t", workspace="/w", model=ModelSpec(name="m"), gate=policy)
        ctx = SimpleNamespace(
            facts=SimpleNamespace(spec=spec_of_planning(then)),
            sandbox=SimpleNamespace(kind="landlock"),
            gate=place.gate(GateMode.READ, [*rules], sandbox="landlock"),
            workspace=place.ws,
        )
        try:
            return (await with_check_run(ctx, DRAFT, NoEvents())).passes
        except Started:
            return True

    assert await starts(falls_back=False)
    assert not await starts(falls_back=True)
    assert await starts(Rule(verdict="allow", tool="run_command", command="pytest"), falls_back=True)
