"""Images for a model that cannot see them, or a provider that refuses them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes.models.model import ScriptedModel
from fakes.pictures import png
from fakes.turns import say
from run.model.pictures_sent import images_of, kept

from rundry.agent.models.images.attach import attach
from rundry.agent.protocol import (
    Budget,
    ModelFault,
    ModelSpec,
    Say,
    Stop,
    SwitchModel,
)

BLIND = ModelFault("bad-request", "https://x: this model does not support image input", status=400)


async def test_a_model_that_cannot_see_is_never_sent_an_image(chat: Any):
    run = chat(say("a cat"), model={"sees_images": False})
    run.on("waiting", kept(run, "see @a.png"), nth=1).on("command_refused", Stop(how="now"))
    await run.run(watched=True)
    why = run.of("command_refused")[0]["why"]
    assert why.startswith("scripted does not accept images: switch to a model that does (/model NAME")
    assert run.model.requests == []


async def test_a_task_with_an_image_is_refused_before_anything_is_sent(driven: Any, work: Path):
    (work / "a.png").write_bytes(png())
    (one,) = attach("@a.png", work)
    run = driven(say("a cat"), task="see @a.png", images=[one.ref], model={"sees_images": False})
    outcome = await run.run()
    assert (outcome.reason, run.model.requests) == ("refused", [])
    assert "does not accept images" in outcome.detail


async def test_after_a_switch_to_a_blind_model_a_line_stands_for_the_image(chat: Any):
    run = chat(say("a cat"), model={"sees_images": True})
    other = ScriptedModel([say("I cannot see it")], name="blind", sees_images=False)
    run.open_model = lambda spec: other if spec.name == "blind" else run.model
    run.on("waiting", kept(run, "see @a.png"), nth=1)
    run.on("waiting", SwitchModel(model=ModelSpec(name="blind")), Say(text="sure?"), nth=2)
    run.on("waiting", Stop(how="now"), nth=3)
    await run.run(watched=True)
    (request,) = other.requests
    assert images_of(request) == []
    assert request.messages[1].text == "see @a.png\n[image a.png, 800x600]"
    assert run.of("model_switched")[0]["sees_images"] is False


async def test_a_refusal_by_the_provider_is_reported_and_the_conversation_continues_without_images(chat: Any):
    run = chat(BLIND, say("then tell me"), say("on"))
    again = kept(run, "and @b.jpg?")
    run.on("waiting", kept(run, "see @a.png"), nth=1)
    run.on("waiting", Say(text="it shows a cat"), nth=2)
    run.on("waiting", again, nth=3).on("command_refused", Stop(how="now"))
    await run.run(watched=True)
    fault = run.of("fault")[0]["text"]
    assert fault.startswith("scripted does not accept images (https://x: this model does not support image input)")
    assert [images_of(r) for r in run.model.requests] == [["a.png"], []], run.story()
    assert "[image a.png, 800x600]" in run.heard(1)
    assert "does not accept images" in run.of("command_refused")[0]["why"]


async def test_a_model_that_sees_loses_only_the_images_that_were_refused(chat: Any):
    bad = ModelFault("bad-request", "https://x: Could not process image", status=400)
    run = chat(bad, say("a dog"), model={"sees_images": True})
    run.on("waiting", kept(run, "see @a.png"), nth=1)
    run.on("waiting", kept(run, "and @b.jpg?"), nth=2).on("waiting", Stop(how="now"), nth=3)
    await run.run(watched=True)
    assert [images_of(r) for r in run.model.requests] == [["a.png"], ["b.jpg"]], run.story()
    assert "refused the images of this call" in run.of("fault")[0]["text"]


async def test_a_fault_that_says_nothing_of_images_leaves_them(chat: Any):
    run = chat(ModelFault("bad-request", "https://x: temperature must be 1", status=400), say("a cat"))
    run.on("waiting", kept(run, "see @a.png"), nth=1)
    run.on("waiting", Say(text="again"), nth=2).on("waiting", Stop(how="now"), nth=3)
    await run.run(watched=True)
    assert [images_of(r) for r in run.model.requests] == [["a.png"], ["a.png"]]
    assert run.of("images_refused") == []


@pytest.mark.parametrize(("tokens", "calls"), [(3_000, 0), (30_000, 1)])
async def test_a_budget_that_is_too_small_for_the_image_refuses_the_call(
    chat: Any, work: Path, tokens: int, calls: int
):
    (work / "wide.png").write_bytes(png(3_000, 2_000))
    run = chat(say("a cat"), budget=Budget(tokens=tokens))
    run.on("waiting", kept(run, "see @wide.png"), nth=1).on("waiting", Stop(how="now"), nth=2)
    await run.run(watched=True)
    seen = [images_of(request) for request in run.model.requests if images_of(request)]
    assert seen == [["wide.png"]] * calls, run.story()
    details = [e["detail"] for e in run.of("waiting")]
    assert any("token budget" in detail for detail in details) is (calls == 0)
