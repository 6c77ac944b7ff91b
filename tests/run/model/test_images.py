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
from fakes.in_process.simulated_hours import make_repository, through_hours
from fakes.pictures import png
from fakes.turns import finish, say
from run.model.pictures_sent import PICTURES, images_of, kept

from rundry.agent.journal.journal import Journal
from rundry.agent.models.images.attach import attach
from rundry.agent.models.lanes.close_connections import close_connections
from rundry.agent.models.open_model import open_model
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
)
from rundry.agent.run.client.start_request import ResumeChanges
from rundry.agent.run.start.fork import fork
from rundry.agent.state.reports.export_events import exported_lines


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
        body = await request.json()
        if body.get("tools"):  # else it is asked how fast it reads
            self.bodies.append(body)
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


async def test_the_task_of_a_run_carries_its_images_and_a_resumed_run_sends_them_again(driven: Any, work: Path):
    (work / "a.png").write_bytes(png())
    (one,) = attach("@a.png", work)
    run = driven(ModelFault("auth", "no"), say("a cat"), loop=LoopKind.NAIVE, task="see @a.png", images=[one.ref])
    journal = Journal.open(run.path)
    journal.blobs.keep(one.data)
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
    assert copy.blobs.load(said.images[0].sha) == png()
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
    journal.blobs.keep(one.data)
    journal.close()
    await through_hours(run, ManualClock())
    opened = [e for e in run.of("prompted") if e["kind"] == "task"]
    assert [[image["name"] for image in e["images"]] for e in opened][:1] == [["a.png"]], run.story()
    assert images_of(run.model.requests[0]) == ["a.png"]
