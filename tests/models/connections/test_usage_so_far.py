"""Servers that report their counts with each piece: an answer that is ended early, or breaks off, keeps them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

import pytest
from aiohttp import web

from rundry.agent.protocol import EndPart, Message, ModelFault, Request, TextPart, Tokens, UsagePart

LLAMA = {"id": "fake", "object": "model", "owned_by": "llamacpp", "meta": {"n_ctx": 4096}}
VLLM = {"id": "fake", "object": "model", "owned_by": "vllm", "max_model_len": 4096}
OTHER = {"id": "fake", "object": "model", "owned_by": "me", "max_model_len": 4096}
ONLY_THE_END = {"include_usage": True}
IN_EACH_PIECE = {"include_usage": True, "continuous_usage_stats": True}


def piece(words: str | None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    delta = {} if words is None else {"content": words}
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def timings(read: int, cached: int, written: int) -> dict[str, Any]:
    """As llama.cpp's server, build 1-0c1e570, sends them with `timings_per_token`."""
    return {"timings": {"cache_n": cached, "prompt_n": read, "prompt_ms": 467.462, "predicted_n": written}}


def usage(prompt: int, output: int) -> dict[str, Any]:
    return {"usage": {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}}


class Server:
    def __init__(self, events: Sequence[dict[str, Any]], listed: dict[str, Any], *, refuses: str = "") -> None:
        self._events, self._refuses = events, refuses
        self.asked: list[dict[str, Any]] = []
        self.routes = {
            "GET /v1/models": {"object": "list", "data": [listed]},
            "POST /v1/chat/completions": self._answer,
        }

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(await request.json())
        if self._refuses and self._refuses in json.dumps(self.asked[-1]):
            place = ["body", "stream_options", self._refuses]
            error = {"type": "extra_forbidden", "loc": place, "msg": "Extra inputs are not permitted"}
            return web.json_response({"detail": [error]}, status=422)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in self._events:
            await response.write(f"data: {json.dumps(event)}\n\n".encode())
        return response


LLAMA_ANSWER = [
    piece(None, **timings(34, 0, 0)),
    piece("one", **timings(4, 30, 1)),
    piece(" two", **timings(4, 30, 2)),
    piece(" three", **timings(4, 30, 5)),
]
VLLM_ANSWER = [
    piece("", **usage(34, 0)),
    piece("one", **usage(34, 1)),
    piece(" two", **usage(34, 2)),
    piece(" three", **usage(34, 5)),
]
END = [piece(None, "stop"), {"choices": [], **usage(34, 6)}]


async def until(asked: Any, words: str) -> UsagePart | None:
    """End the answer after these words, and return the last figures."""
    request = Request(messages=[Message(role="user", text="go")], tools=[], max_tokens=50)
    found: UsagePart | None = None
    async with aclosing(asked.model.stream(request)) as parts:
        async for part in parts:
            if isinstance(part, UsagePart):
                found = part
            elif isinstance(part, TextPart) and part.text == words:
                return found
    raise AssertionError("the words did not come")


@pytest.mark.parametrize(
    ("listed", "events", "tokens"),
    [(LLAMA, LLAMA_ANSWER, Tokens(34, 2, cached=30)), (VLLM, VLLM_ANSWER, Tokens(34, 2))],
    ids=["llama.cpp", "vllm"],
)
async def test_an_answer_that_we_end_early_has_the_counts_of_its_last_piece(opened, serve, listed, events, tokens):
    server = Server([*events, *END], listed)
    asked = await opened(await serve(server.routes) + "/v1")
    assert await until(asked, " two") == UsagePart(tokens)


@pytest.mark.parametrize(("listed", "events"), [(LLAMA, LLAMA_ANSWER), (VLLM, VLLM_ANSWER)], ids=["llama.cpp", "vllm"])
async def test_the_report_at_the_end_replaces_the_counts_on_the_way(opened, serve, listed, events):
    server = Server([*events, *END], listed)
    asked = await opened(await serve(server.routes) + "/v1")
    parts = await asked.ask()
    assert asked.text == "one two three"
    assert (parts[-2].tokens.in_, parts[-2].tokens.out, parts[-1]) == (34, 6, EndPart("stop"))


@pytest.mark.parametrize(
    ("listed", "events", "tokens"),
    [(LLAMA, LLAMA_ANSWER, Tokens(34, 5, cached=30)), (VLLM, VLLM_ANSWER, Tokens(34, 5))],
    ids=["llama.cpp", "vllm"],
)
async def test_counts_on_the_way_do_not_make_a_broken_stream_whole(opened, serve, listed, events, tokens):
    server = Server(events, listed)
    asked = await opened(await serve(server.routes) + "/v1")
    with pytest.raises(ModelFault) as caught:
        await asked.ask()
    assert (caught.value.kind, caught.value.usage) == ("cut", UsagePart(tokens))


@pytest.mark.parametrize(
    ("listed", "options", "timed"),
    [(LLAMA, ONLY_THE_END, True), (VLLM, IN_EACH_PIECE, None), (OTHER, ONLY_THE_END, None)],
    ids=["llama.cpp", "vllm", "another"],
)
async def test_each_server_is_asked_for_what_it_offers(opened, serve, listed, options, timed):
    server = Server([piece("hi", "stop")], listed)
    asked = await opened(await serve(server.routes) + "/v1")
    await asked.ask()
    assert (server.asked[0]["stream_options"], server.asked[0].get("timings_per_token")) == (options, timed)


async def test_an_older_vllm_that_refuses_the_counts_is_asked_for_the_usage_at_the_end(opened, serve):
    server = Server([piece("hi", "stop"), {"choices": [], **usage(7, 2)}], VLLM, refuses="continuous_usage_stats")
    asked = await opened(await serve(server.routes) + "/v1")
    with pytest.raises(ModelFault) as caught:
        await asked.ask()
    assert caught.value.try_again
    assert caught.value.text.startswith("asked again with stream_options include_usage: ")
    parts = await asked.ask()
    assert server.asked[-1]["stream_options"] == ONLY_THE_END
    assert parts[-2] == UsagePart(Tokens(7, 2))


@pytest.mark.parametrize("odd", [{"timings": {"prompt_n": "x", "predicted_n": None}}, {"timings": {}}, {}])
async def test_timings_without_usable_numbers_are_left_out(opened, serve, odd):
    server = Server([piece("one", **odd), piece("", "stop")], LLAMA)
    asked = await opened(await serve(server.routes) + "/v1")
    await asked.ask()
    assert (asked.text, asked.of(UsagePart)) == ("one", [])
