"""How far a server has read a prompt: asked of llama.cpp's server alone, and counted as a sign of life."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from aiohttp import web

from rundry.agent.models.lanes.timer import StallTimeouts
from rundry.agent.protocol import EndPart, ModelFault, PromptReadPart, TextPart

LLAMA = {"id": "fake", "object": "model", "owned_by": "llamacpp", "meta": {"n_ctx": 4096}}


def chunk(**more: Any) -> dict[str, Any]:
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "fake", "choices": [], **more}


def progress(processed: object, total: object = 2831) -> dict[str, Any]:
    """As llama.cpp's server sends it."""
    role = {"finish_reason": None, "index": 0, "delta": {"role": "assistant", "content": None}}
    told = {"total": total, "cache": 0, "processed": processed, "time_ms": 12_962}
    return chunk(choices=[role], prompt_progress=told)


def text(words: str) -> dict[str, Any]:
    return chunk(choices=[{"index": 0, "finish_reason": "stop", "delta": {"content": words}}])


class Server:
    """Sends these events with a pause before each; a str is sent as it is."""

    def __init__(self, events: Sequence[dict[str, Any] | str], *, pause: float = 0.0, listed: dict[str, Any] = LLAMA):
        self.events, self.pause = events, pause
        self.asked: list[dict[str, Any]] = []
        self.routes = {
            "GET /v1/models": {"object": "list", "data": [listed]},
            "POST /v1/chat/completions": self._answer,
        }

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(await request.json())
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in self.events:
            await asyncio.sleep(self.pause)
            line = event if isinstance(event, str) else f"data: {json.dumps(event)}\n\n"
            await response.write(line.encode())
        await response.write(b"data: [DONE]\n\n")
        return response


async def test_the_progress_of_the_prompt_arrives_before_the_text(opened, serve):
    server = Server([progress(0), progress(2048), progress(2831), text("hi")])
    asked = await opened(await serve(server.routes) + "/v1")
    parts = await asked.ask()
    assert asked.of(PromptReadPart) == [PromptReadPart(n, 2831) for n in (0, 2048, 2831)]
    assert parts[3:] == [TextPart("hi"), EndPart("stop")]
    assert server.asked[0]["return_progress"] is True


@pytest.mark.parametrize(
    "listed",
    [
        {"id": "fake", "owned_by": "vllm", "max_model_len": 4096},
        {"id": "fake", "owned_by": "organization_owner", "max_context_length": 4096},
        {"id": "fake", "owned_by": "me"},
    ],
    ids=["vllm", "lm studio", "llama_cpp.server"],
)
async def test_no_other_server_is_asked_for_it(opened, serve, listed):
    server = Server([text("hi")], listed=listed)
    asked = await opened(await serve(server.routes) + "/v1")
    await asked.ask()
    assert "return_progress" not in server.asked[0]


@pytest.mark.parametrize(("processed", "total"), [(None, 5), (1, 0), ("1", "5"), (True, []), (1, None)])
async def test_progress_without_usable_numbers_is_left_out(opened, serve, processed, total):
    server = Server([progress(processed, total), text("hi")])
    asked = await opened(await serve(server.routes) + "/v1")
    await asked.ask()
    assert (asked.of(PromptReadPart), asked.text) == ([], "hi")


async def test_text_that_comes_with_progress_is_not_lost(opened, serve):
    both = {**text("hi"), "prompt_progress": {"total": 9, "cache": 0, "processed": 9, "time_ms": 1}}
    server = Server([both])
    asked = await opened(await serve(server.routes) + "/v1")
    await asked.ask()
    assert asked.text == "hi"


@pytest.mark.parametrize(
    "sign", [progress(512), ": OPENROUTER PROCESSING\n\n", ":\n\n"], ids=["progress", "openrouter", "empty comment"]
)
async def test_signs_of_life_before_the_first_token_extend_the_wait_for_it(opened, serve, sign):
    server = Server([*[sign] * 12, text("hi")], pause=0.1)
    asked = await opened(await serve(server.routes) + "/v1", timeouts=StallTimeouts(first=0.6, between=0.3))
    await asked.ask()
    assert asked.text == "hi"


async def test_progress_extends_the_wait_without_a_limit_and_comments_only_up_to_one(opened, serve):
    times = StallTimeouts(first=0.4, between=20, kept_alive=0.6)
    server = Server([*[progress(512)] * 15, text("hi")], pause=0.1)
    asked = await opened(await serve(server.routes) + "/v1", timeouts=times)
    await asked.ask()
    assert asked.text == "hi"
    server = Server([*[": wait\n\n"] * 600], pause=0.1)
    asked = await opened(await serve(server.routes) + "/v1", timeouts=times)
    with pytest.raises(ModelFault) as caught:
        await asked.ask()
    assert (caught.value.kind, caught.value.retryable) == ("timeout", False)
    assert "kept the connection open for 0.6 s, but sent no answer" in caught.value.text


async def test_comments_after_the_answer_has_begun_do_not_hide_that_it_stalled(opened, serve):
    begun = chunk(choices=[{"index": 0, "delta": {"content": "half"}}])
    server = Server([begun, *[": wait\n\n"] * 600], pause=0.1)
    asked = await opened(await serve(server.routes) + "/v1", timeouts=StallTimeouts(first=20, between=0.5))
    with pytest.raises(ModelFault) as caught:
        await asked.ask()
    assert (caught.value.kind, asked.text) == ("stalled", "half")
