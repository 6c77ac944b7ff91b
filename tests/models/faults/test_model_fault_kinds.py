"""Each fault has its kind, says whether trying again helps, and names no key."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest
from fakes.server import ScriptedServer
from fakes.turns import HttpError, Turn, say, words

from rundry.agent.models.lanes.timer import StallTimeouts
from rundry.agent.protocol import ModelFault, Refusal, UserError

KEY = "sk-proj-Abcdef0123456789Abcdef0123456789"


async def fault(asked, **more) -> ModelFault:
    with pytest.raises(ModelFault) as caught:
        await asked.ask(**more)
    assert "\n" not in caught.value.text
    assert caught.value.text == str(caught.value)
    return caught.value


LLAMA_CPP = "the request exceeds the available context size. try increasing the context size or enable context shift"
OPENAI = "This model's maximum context length is 4096 tokens. However, your messages resulted in 9000 tokens."


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        (HttpError(429, "slow down"), "rate-limit", True),
        (HttpError(429, "You exceeded your current quota", "insufficient_quota", "insufficient_quota"), "quota", False),
        (HttpError(402, "payment required"), "quota", False),
        (HttpError(400, "Your credit balance is too low to access the API"), "quota", False),
        (HttpError(500, "oops"), "server", True),
        (HttpError(502, body="<html><body>502 Bad Gateway</body></html>"), "server", True),
        (HttpError(503, "overloaded"), "server", True),
        (HttpError(529, "overloaded"), "server", True),
        (HttpError(408, "too slow"), "timeout", True),
        (HttpError(400, OPENAI, "invalid_request_error", "context_length_exceeded"), "context", False),
        (HttpError(400, LLAMA_CPP, "exceed_context_size_error"), "context", False),
        (HttpError(413, "prompt is too long: 300000 tokens > 200000 maximum"), "context", False),
        (HttpError(400, "stopped by content management policy", "x", "content_filter"), "filtered", False),
        (HttpError(401, "Incorrect API key provided", "invalid_request_error", "invalid_api_key"), "auth", False),
        (HttpError(403, "no access"), "auth", False),
        (HttpError(404, "The model `fake` does not exist", "x", "model_not_found"), "unknown-model", False),
        (HttpError(400, "fake is not a valid model ID"), "unknown-model", False),
        (HttpError(400, "unsupported parameter: 'tools'"), "bad-request", False),
        (HttpError(422, "validation failed"), "bad-request", False),
    ],
    ids=lambda v: f"{v.status} {v.message[:20]}" if isinstance(v, HttpError) else None,
)  # fmt: skip
async def test_an_http_error_is_judged_by_its_status_and_words(opened, error, kind, retryable):
    with ScriptedServer([Turn(error=error)]) as server:
        asked = await opened(server.base_url)
        caught = await fault(asked)
        assert len(server.requests) == 1, "retries are not made here"
    assert (caught.kind, caught.retryable) == (kind, retryable), caught.text


async def test_retry_after_is_handed_on_in_seconds(opened):
    headers = [{"Retry-After": "1"}, {"Retry-After": "120"}, {"retry-after-ms": "1500"}, {}]
    turns = [Turn(error=HttpError(429, "slow", headers=h)) for h in headers]
    with ScriptedServer(turns) as server:
        asked = await opened(server.base_url)
        began = time.monotonic()
        assert [(await fault(asked)).retry_after for _ in turns] == [1.0, 120.0, 1.5, None]
    assert time.monotonic() - began < 10, "nobody slept"


async def test_a_retry_after_date_is_turned_into_seconds(opened):
    import email.utils

    date = email.utils.formatdate(time.time() + 30, usegmt=True)
    with ScriptedServer([Turn(error=HttpError(503, "later", headers={"Retry-After": date}))]) as server:
        after = (await fault(await opened(server.base_url))).retry_after
    assert after is not None
    assert 20 < after <= 30


async def test_a_key_that_the_server_repeats_is_not_in_the_text(opened):
    error = HttpError(401, f"Incorrect API key provided: {KEY}. Find yours at ...", "invalid_request_error")
    with ScriptedServer([Turn(error=error)]) as server:
        asked = await opened(server.base_url, "openai/fake", env={"OPENAI_API_KEY": KEY})
        caught = await fault(asked)
        assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    assert caught.kind == "auth"
    assert KEY not in caught.text
    assert "OPENAI_API_KEY" in caught.text


@pytest.mark.parametrize(
    "turn",
    [
        Turn(raw=b"<html><body>Welcome to nginx</body></html>", raw_type="text/html"),
        Turn(raw=b'{"message": "hello', raw_type="application/json"),
        Turn(raw=b'{"status": "ok"}', raw_type="application/json"),
        Turn(raw=b"data: hello, world\n\n"),
    ],
)
async def test_a_200_that_is_not_a_stream_is_not_a_model_server(opened, turn):
    with ScriptedServer([turn]) as server:
        caught = await fault(await opened(server.base_url))
    assert (caught.kind, caught.retryable) == ("bad-reply", False)
    assert "--api-base" in caught.text


async def test_an_error_object_in_the_stream_is_a_cut_that_can_be_tried_again(opened, sse):
    body = sse({"content": "half"}, done=False) + b'data: {"error": {"message": "backend crashed", "type": "x"}}\n\n'
    with ScriptedServer([Turn(raw=body)]) as server:
        asked = await opened(server.base_url)
        caught = await fault(asked)
    assert (caught.kind, caught.retryable) == ("cut", True)
    assert "backend crashed" in caught.text
    assert asked.text == "half"


async def test_a_context_overflow_in_the_stream_is_still_one(opened, sse):
    body = b'data: {"error": {"code": 400, "message": "%s"}}\n\n' % LLAMA_CPP.encode()
    with ScriptedServer([Turn(raw=body)]) as server:
        assert (await fault(await opened(server.base_url))).kind == "context"


@pytest.mark.parametrize(
    "turn",
    [
        Turn(text="half an answer and more", drop_after=2),
        Turn(raw=b""),
        Turn(raw=b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"x"}}]}\n\ndata: {"id": "c", "cho\n\n'),
    ],
    ids=["dropped", "nothing at all", "broken chunk"],
)  # fmt: skip
async def test_a_stream_that_ends_in_the_middle_is_cut(opened, turn):
    with ScriptedServer([turn]) as server:
        caught = await fault(await opened(server.base_url))
    assert (caught.kind, caught.retryable) == ("cut", True), caught.text


async def test_an_endless_repetition_is_a_fault_of_its_own_and_not_retried(opened, sse):
    chant = sse(*({"content": "again "} for _ in range(150)), finish="stop")
    dashes = sse(*({"content": "--"} for _ in range(150)), finish="stop")
    with ScriptedServer([Turn(raw=chant), Turn(raw=dashes)]) as server:
        asked = await opened(server.base_url)
        caught = await fault(asked)
        assert (caught.kind, caught.retryable) == ("chant", False)
        await asked.ask()
        assert asked.text == "--" * 150, "short pieces may repeat"


async def test_a_silent_stream_is_stalled_and_a_silent_server_timed_out(opened):
    with ScriptedServer([say("one two three", hold_after=1), Turn(delay=30)]) as server:
        asked = await opened(server.base_url, timeouts=StallTimeouts(first=20, between=0.1))
        caught = await fault(asked)
        assert (caught.kind, caught.retryable, asked.text) == ("stalled", True, "one")
        asked = await opened(server.base_url, timeouts=StallTimeouts(first=0.15, between=20))
        caught = await fault(asked)
        assert (caught.kind, caught.retryable) == ("timeout", True)
        assert any(r.closed_early for r in server.wait_closed(5))


async def test_the_time_limit_cuts_a_stream_that_still_sends(opened):
    with ScriptedServer([Turn(tokens=5000, rate=200)]) as server:
        asked = await opened(server.base_url)
        began = time.monotonic()
        caught = await fault(asked, seconds=0.3)
        assert (caught.kind, caught.retryable) == ("deadline", False)
        assert time.monotonic() - began < 1.0
        assert asked.text
        server.wait_closed(2)


async def test_a_cancel_closes_the_socket_within_a_second(opened):
    with ScriptedServer([Turn(tokens=5000, rate=200)]) as server:
        asked = await opened(server.base_url)
        task = asyncio.create_task(asked.ask())
        while not asked.text:
            await asyncio.sleep(0.01)
        task.cancel()
        cancelled = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - cancelled < 0.5
        record = server.wait_closed(1)[0]
        assert not record.complete
    assert " ".join(asked.text.split()) in " ".join("".join(words(5000)).split())


async def test_a_cancel_before_the_first_byte_closes_the_socket_too(opened):
    with ScriptedServer([Turn(delay=30)]) as server:
        asked = await opened(server.base_url)
        task = asyncio.create_task(asked.ask())
        while not server.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        server.wait_closed(1)


async def test_closing_the_iterator_closes_the_socket(opened):
    from rundry.agent.protocol import Message, Request

    with ScriptedServer([Turn(tokens=5000, rate=200)]) as server:
        asked = await opened(server.base_url)
        stream = asked.model.stream(Request(messages=[Message(role="user", text="go")], max_tokens=9000))
        await anext(stream)
        await stream.aclose()
        server.wait_closed(1)


async def test_a_refused_connection_names_the_address_and_is_retryable(opened):
    address = nobody()
    asked = await opened(address)
    caught = await fault(asked)
    assert (caught.kind, caught.retryable) == ("server", True)
    assert address in caught.text
    with pytest.raises(Refusal, match=r"127\.0\.0\.1"):
        await asked.model.probe()


async def test_a_missing_key_is_reported_before_anything_is_sent(opened):
    asked = await opened(None, "openai/gpt-4o")
    assert (await fault(asked)).kind == "auth"
    with pytest.raises(Refusal, match="OPENAI_API_KEY"):
        await asked.model.probe()


@pytest.mark.parametrize(("name", "base"), [("qwen-something-odd", None), ("fake", "not a url"), ("fake", "ftp://x")])
async def test_a_name_or_an_address_that_cannot_be_used_is_the_users_error(opened, name, base):
    with pytest.raises(UserError, match=base or name):
        await opened(base, name)


def nobody() -> str:
    """An address at which nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{held.getsockname()[1]}/v1"


async def test_a_server_that_asks_for_a_key_which_was_not_sent_tells_how_to_name_one(opened):
    with ScriptedServer([Turn(error=HttpError(401, "no key"))]) as server:
        caught = await fault(await opened(server.base_url, "openai/fake", env={}))
    assert f"{server.base_url} asks for a key, and none was sent; name its variable as key_from" in caught.text
