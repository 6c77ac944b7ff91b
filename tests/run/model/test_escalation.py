from __future__ import annotations

from fakes.models.model import ScriptedModel
from fakes.turns import call, edit, finish

from rundry.agent.protocol import Budget, ModelSpec, Price, Refusal

READ = call("read_file", path="a.txt")
DONE = finish("all is well", "a.txt:1")
STRONG = ModelSpec(name="strong")


def two(driven, *turns, then=None, strong: ScriptedModel | None = None, **options):
    """A run that goes in circles, and the model that may take over."""
    run = driven(READ, then=READ, escalate=STRONG, **options)
    other = strong or ScriptedModel(turns, then=then, name="strong")
    run.open_model = lambda spec: other if spec.name == "strong" else run.model
    return run, other


async def test_a_stall_whose_hint_did_not_help_goes_to_the_stronger_model_with_what_was_tried(driven):
    run, strong = two(driven, DONE)
    outcome = await run.run()
    assert outcome.reason == "answered", run.story()
    assert [(e["kind"], e["response"]) for e in run.of("stall_detected")] == [
        ("repeat", "hint"),
        ("repeat", "escalate"),
    ]
    (switched,) = run.of("model_switched")
    assert (switched["by"], switched["model"]) == ("escalate", "strong")
    (told,) = [e for e in run.of("prompted") if e["kind"] == "handover"]
    assert "You take over from another model (scripted)" in told["text"]
    assert "read_file a.txt" in told["text"]
    assert told["text"] in [m.text for m in strong.requests[0].messages]
    asked = [c.call_id for m in strong.requests[0].messages for c in m.calls]
    answered = [m.call_id for m in strong.requests[0].messages if m.role == "tool"]
    assert asked == answered


async def test_it_takes_over_once_and_then_the_user_s_choice_holds(driven):
    run, strong = two(driven, READ, then=READ, on_stall="stop", budget=Budget(steps=60))
    outcome = await run.run()
    assert (outcome.reason, outcome.exit_code) == ("stagnation", 4), run.story()
    assert len(run.of("model_switched")) == 1
    assert [e["response"] for e in run.of("stall_detected")] == ["hint", "escalate", "hint", "stop"]
    assert len(strong.requests) > 4, "it gets a hint of its own first"


async def test_a_headless_run_hands_off_only_after_it(driven):
    run, _ = two(driven, READ, then=READ, on_stall="handoff", budget=Budget(steps=60))
    assert (await run.run()).reason == "handoff"
    (opened,) = run.of("handoff_opened")
    assert [share["model"] for share in opened["record"]["shares"]] == ["scripted", "strong"]


async def test_a_stronger_model_that_cannot_be_reached_leaves_the_choice_as_it_was(driven):
    strong = ScriptedModel([DONE], name="strong")

    async def probe() -> None:
        raise Refusal("nobody listens there")

    strong.probe = probe
    run, _ = two(driven, strong=strong, on_stall="stop")
    outcome = await run.run()
    assert outcome.reason == "stagnation", run.story()
    (fault,) = run.of("fault")
    assert (fault["kind"], fault["text"]) == ("escalate", "strong cannot take over: nobody listens there")


async def test_the_budget_still_holds_for_the_stronger_model(driven):
    dear = Price(input=1e-3, output=1e-3, cached=1e-3, worst_input=1e-3, worst_output=1e-3)
    strong = ScriptedModel([DONE], name="strong", price=dear)
    run, _ = two(driven, strong=strong, budget=Budget(usd=0.5))
    outcome = await run.run()
    assert outcome.reason == "budget", run.story()
    assert outcome.usd is not None and 0 < outcome.usd <= 0.5


async def test_one_without_a_price_does_not_take_over_where_the_user_asked_for_a_limit_in_dollars(driven):
    strong = ScriptedModel([DONE], name="strong", price=None, local=False)
    run, _ = two(driven, strong=strong, budget=Budget(usd=0.5), usd_asked=True, on_stall="stop")
    assert (await run.run()).reason == "stagnation"
    assert "no price is known for strong" in run.of("fault")[0]["text"]
    assert strong.requests == []


async def test_after_a_kill_it_is_known_that_it_was_used(driven):
    run, _ = two(driven, edit("a.txt", "one", "ONE"), DONE)
    await run.run()
    killed = run.killed_at("model_switched")
    killed.model.then, killed.model.turns, killed.model.requests[:] = READ, [], []
    killed.open_model = lambda spec: killed.model
    outcome = await killed.run()
    assert outcome.reason == "stagnation", killed.story()
    assert killed.of("model_switched") == []


async def test_without_the_rule_nothing_is_switched(driven):
    run = driven(READ, then=READ, on_stall="stop")
    assert (await run.run()).reason == "stagnation"
    assert run.of("model_switched") == []
