from __future__ import annotations

from fakes.models.model import ScriptedModel
from fakes.turns import Turn, call, finish, say

from rundry.agent.protocol import FREE, LoopKind, ModelFault, ModelSpec, Price, Say, Stop, SwitchModel

READ = call("read_file", path="a.txt")
DONE = finish("all is well", "a.txt:1")
OTHER = ModelSpec(name="other")
PRICE = Price(input=3e-6, output=15e-6, cached=3e-7, worst_input=4e-6, worst_output=15e-6)


async def test_the_event_of_a_switch_says_what_the_cold_cache_costs(driven):
    run = driven(READ, DONE, model={"price": PRICE}).on("step_finished", SwitchModel(model=OTHER), number=1)
    await run.run()
    (event,) = run.of("model_switched")
    assert event["prompt_tokens"] > 100
    assert abs(event["cold_usd"] - event["prompt_tokens"] * 3e-6) < 1e-12


async def test_a_cheap_switch_is_made_immediately_though_its_price_is_asked_about(driven):
    run = driven(READ, DONE).on("step_finished", SwitchModel(model=OTHER, ask_above=0.01), number=1)
    await run.run()
    assert run.of("model_quoted") == []
    assert [e["by"] for e in run.of("model_switched")] == ["person"]


async def test_a_model_without_a_price_is_asked_about(driven):
    run = driven(READ, DONE, model={"price": None, "local": False})
    run.on("step_finished", SwitchModel(model=OTHER, ask_above=0.01), number=1)
    await run.run()
    (quoted,) = run.of("model_quoted")
    assert quoted["cold_usd"] is None
    assert run.of("model_switched") == []


async def test_a_retry_that_waits_goes_to_the_model_that_was_switched_to(driven):
    down = ModelFault("server", "503: down", retryable=True, retry_after=0.2)
    run = driven(down, DONE, READ)
    other = ScriptedModel([READ, DONE], name="other")
    models = {"scripted": run.model, "other": other}
    run.open_model = lambda spec: models[spec.name]
    run.on("fault", SwitchModel(model=OTHER))
    outcome = await run.run()
    assert outcome.reason == "answered", run.story()
    assert len(run.model.requests) == 1
    assert [e["model"] for e in run.of("call_admitted")] == ["scripted", "other", "other"]
    assert outcome.steps == 2


async def test_a_chat_that_waits_is_answered_by_the_new_model_and_keeps_its_messages(driven):
    run = driven(say("I am small"), loop=LoopKind.CHAT)
    other = ScriptedModel([say("I am big")], name="other", price=FREE)
    run.open_model = lambda spec: other if spec.name == "other" else run.model
    run.on("waiting", SwitchModel(model=OTHER), Say(text="and you?"), nth=1)
    run.on("waiting", Stop(how="now"), nth=2)
    await run.run(watched=True)
    (request,) = other.requests
    texts = [(m.role, m.text) for m in request.messages]
    assert texts[1:] == [("user", "do it"), ("assistant", "I am small"), ("user", "and you?")]


async def test_a_switch_while_an_answer_streams_is_for_the_next_call(driven):
    run = driven(Turn(text="I think about it", hold_after=2, calls=READ.calls))
    other = ScriptedModel([DONE], name="other")
    run.open_model = lambda spec: other if spec.name == "other" else run.model

    def release(event):
        run.model.released.set()
        return Say(text="go on")

    run.on("text_arrived", SwitchModel(model=OTHER))
    run.on("model_switched", release)
    outcome = await run.run()
    assert outcome.reason == "answered", run.story()
    assert [e["model"] for e in run.of("charged")] == ["scripted", "other"]
