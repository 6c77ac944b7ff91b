"""Images in a run: the real runner, journal and conversation, models in the process and over HTTP."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from fakes.clock import ManualClock
from fakes.in_process.hours import make_repository, through_hours
from fakes.models.model import ScriptedModel
from fakes.pictures import gif, jpeg, png, webp
from fakes.turns import finish, say

from rundry.agent.images import attach
from rundry.agent.journal import Journal
from rundry.agent.model import close_connections, open_model
from rundry.agent.protocol import (
    Budget,
    Compact,
    ImageRef,
    IntervalSpec,
    LoopKind,
    ModelFault,
    ModelSpec,
    Rewind,
    Said,
    Say,
    Stop,
    SwitchModel,
)
from rundry.agent.reports.export import exported_lines
from rundry.agent.run.client.start_request import ResumeChanges
from rundry.agent.run.fork import fork

PICTURES = {"a.png": png(), "b.jpg": jpeg(), "c.gif": gif(), "d.webp": webp()}
BLIND = ModelFault("bad-request", "https://x: this model does not support image input", status=400)


def kept(run: Any, text: str) -> Say:
    """The message as a view puts it: the bytes of its images are in the journal."""
    images = attach(text, Path(run.spec.workspace))
    journal = Journal.open(run.path)
    for one in images:
        journal.keep(one.data)
    journal.close()
    return Say(text=text, images=[one.ref for one in images])


@pytest.fixture
def chat(driven: Callable[..., Any], work: Path) -> Callable[..., Any]:
    """A chat without a first message, with four pictures in its folder."""
    for name, data in PICTURES.items():
        (work / name).write_bytes(data)

    def make(*turns: Any, **more: Any) -> Any:
        return driven(*turns, **{"loop": LoopKind.CHAT, "task": "", **more})

    return make


def images_of(request: Any) -> list[str]:
    return [image.name for message in request.messages for image in message.images]


# --- on the wire


def openai(body: dict[str, Any]) -> list[tuple[str, bytes]]:
    parts = [p for m in body["messages"] if isinstance(m["content"], list) for p in m["content"]]
    urls = [p["image_url"]["url"] for p in parts if p["type"] == "image_url"]
    return [(u[5:].partition(";")[0], base64.b64decode(u.partition(",")[2])) for u in urls]


def anthropic(body: dict[str, Any]) -> list[tuple[str, bytes]]:
    parts = [p for m in body["messages"] if isinstance(m["content"], list) for p in m["content"]]
    sources = [p["source"] for p in parts if p["type"] == "image"]
    return [(s["media_type"], base64.b64decode(s["data"])) for s in sources]


def ollama(body: dict[str, Any]) -> list[tuple[str, bytes]]:
    datas = [base64.b64decode(i) for m in body["messages"] for i in m.get("images", [])]
    return [(next(ref for data, ref in MEDIA if data == one), one) for one in datas]


MEDIA = [
    (PICTURES["a.png"], "image/png"),
    (PICTURES["b.jpg"], "image/jpeg"),
    (PICTURES["c.gif"], "image/gif"),
    (PICTURES["d.webp"], "image/webp"),
]
ANSWERS = {
    "/v1/chat/completions": (
        "text/event-stream",
        b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"a cat"},"finish_reason":"stop"}]}\n\n'
        b'data: {"id":"c","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}\n\ndata: [DONE]\n\n',
    ),
    "/v1/messages": (
        "text/event-stream",
        b"".join(
            b"event: " + json.loads(line)["type"].encode() + b"\ndata: " + line + b"\n\n"
            for line in (
                b'{"type":"message_start","message":{"id":"m","role":"assistant","content":[],"model":"x",'
                b'"usage":{"input_tokens":9,"output_tokens":1}}}',
                b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
                b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a cat"}}',
                b'{"type":"content_block_stop","index":0}',
                b'{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}',
                b'{"type":"message_stop"}',
            )
        ),
    ),
    "/api/chat": (
        "application/x-ndjson",
        b'{"message":{"role":"assistant","content":"a cat"},"done":false}\n'
        b'{"message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":2}\n',
    ),
}


class Wires:
    """A server that speaks all three formats and remembers what was asked."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.json())
        kind, body = ANSWERS[request.path]
        return web.Response(body=body, content_type=kind)


@pytest.fixture
async def wires() -> AsyncIterator[Wires]:
    found = Wires()
    app = web.Application(client_max_size=64 << 20)
    for path in ANSWERS:
        app.router.add_post(path, found.answer)
    shown = {"capabilities": ["completion", "vision"], "model_info": {"x.context_length": 32768}}
    app.router.add_post("/api/show", _json(shown))
    app.router.add_get("/v1/models", _json({"object": "list", "data": [{"id": "fake"}]}))
    app.router.add_get("/v1/models/{name}", _json({"id": "x"}))
    app.router.add_get("/api/tags", _json({"models": [{"name": "seer"}]}))
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    found.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield found
    await close_connections()
    await runner.cleanup()


def _json(data: dict[str, Any]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response(data)

    return handler


@pytest.mark.parametrize(
    ("name", "base", "read", "sees"),
    [
        ("openai/fake", "/v1", openai, None),
        ("anthropic/claude-sonnet-4-5", "", anthropic, True),
        ("ollama_chat/seer", "", ollama, True),
    ],
)
async def test_the_four_formats_reach_the_model_on_each_wire(
    chat: Any, wires: Wires, name: str, base: str, read: Any, sees: bool | None
):
    run = chat()
    spec = ModelSpec(name=name, api_base=wires.url + base)
    model = await open_model(spec, {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"})
    assert model.sees_images is sees
    run.open_model = lambda spec: model
    message = kept(run, "what is in @a.png @b.jpg @c.gif @d.webp")
    run.on("waiting", message, nth=1).on("waiting", Say(text="sure?"), nth=2).on("waiting", Stop(how="now"), nth=3)
    await run.run(watched=True)
    assert len(wires.bodies) == 2, run.story()
    for body in wires.bodies:
        assert read(body) == [(media, data) for data, media in MEDIA]
        assert "what is in @a.png" in json.dumps(body)
    (said,) = [e for e in run.of("said") if e["images"]]
    first = said["images"][0]
    assert (first["name"], first["width"], first["height"], first["size"]) == ("a.png", 800, 600, len(png()))
    assert base64.b64encode(png())[:40].decode() not in json.dumps(run.events)


# --- through the life of a run


async def test_the_task_of_a_run_carries_its_images_and_a_resumed_run_sends_them_again(driven: Any, work: Path):
    (work / "a.png").write_bytes(png())
    (one,) = attach("@a.png", work)
    run = driven(ModelFault("auth", "no"), say("a cat"), loop=LoopKind.NAIVE, task="see @a.png", images=[one.ref])
    journal = Journal.open(run.path)
    journal.keep(one.data)
    journal.close()
    await run.run()
    (work / "a.png").unlink()
    await run.run(changes=ResumeChanges(limits={"steps": 2}))
    assert [images_of(request) for request in run.model.requests[:2]] == [["a.png"]] * 2, run.story()
    assert run.model.requests[1].blobs == {one.ref.sha: png()}


async def test_a_compaction_keeps_the_image_of_the_first_message_and_a_rewind_the_earlier_ones(chat: Any):
    run = chat(say("a cat " * 60), say("grey " * 60), say("no " * 60), say("SUMMARY"), say("ok"), say("well"))
    run.on("waiting", kept(run, "what is in @a.png"), nth=1)
    run.on("waiting", Say(text="colour?"), nth=2).on("waiting", kept(run, "is @b.jpg one too?"), nth=3)
    run.on("waiting", Compact(), nth=4).on("conversation_cut", Say(text="so?"))
    run.on("waiting", lambda _: Rewind(seq=run.of("said")[1]["seq"]), nth=5).on("rewound", Say(text="size?"))
    run.on("waiting", Stop(how="now"), nth=6)
    await run.run(watched=True)
    images = [images_of(request) for request in run.model.requests]
    assert images[2] == ["a.png", "b.jpg"], run.story()
    assert images[4][0] == "a.png"
    assert "SUMMARY" in run.heard(4)
    assert images[5] == ["a.png"]


async def test_a_fork_and_an_export_keep_the_images(chat: Any, tmp_path: Path):
    run = chat(say("a cat"), say("yes"))
    run.on("waiting", kept(run, "what is in @a.png"), nth=1).on("waiting", Stop(how="now"), nth=2)
    await run.run(watched=True)
    forked = fork(run.path, tmp_path / "runs")
    copy = Journal.open(Path(forked.journal))
    (said,) = [s.event for s in copy.read() if isinstance(s.event, Said) and s.event.images]
    assert copy.blob(said.images[0].sha) == png()
    lines = b"".join(exported_lines(copy))
    assert b'"name":"a.png","width":800,"height":600' in lines
    assert len(lines) < 20_000
    copy.close()


async def test_a_message_whose_image_is_not_in_the_journal_is_refused(chat: Any):
    run = chat(say("a cat"))
    ref = ImageRef(sha="0" * 64, media="image/png", name="a.png", width=1, height=1)
    run.on("waiting", Say(text="see @a.png", images=[ref]), nth=1).on("command_refused", Stop(how="now"))
    await run.run(watched=True)
    assert "does not hold the image a.png" in run.of("command_refused")[0]["why"]
    assert run.model.requests == []


async def test_each_pass_begins_with_the_images_of_the_task(driven: Any, work: Path):
    make_repository(work)
    (work.parent / "a.png").write_bytes(png())  # outside of the repository, which has to be clean
    (one,) = attach("@../a.png", work)
    run = driven(
        finish("nothing to do", "a.txt"),
        task="compare with @../a.png",
        images=[one.ref],
        loop=LoopKind.INTERVAL,
        interval=IntervalSpec(every=3600.0),
        budget=Budget(steps=2, seconds=None),
    )
    journal = Journal.open(run.path)
    journal.keep(one.data)
    journal.close()
    await through_hours(run, ManualClock())
    opened = [e for e in run.of("prompted") if e["kind"] == "task"]
    assert [[image["name"] for image in e["images"]] for e in opened][:1] == [["a.png"]], run.story()
    assert images_of(run.model.requests[0]) == ["a.png"]


# --- models that do not see


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


async def test_a_refusal_by_the_provider_is_reported_and_the_conversation_goes_on_without_images(chat: Any):
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


# --- limits


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
