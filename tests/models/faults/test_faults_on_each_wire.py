"""Each model fault, in each wire format: the same kind, the same text kept, and no call that must not run."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web
from fakes.providers.wires import KEY, WIRES, Said, Wire

from rundry.agent.protocol import CallPart, EndPart, ModelFault, UsagePart

PATH = '{"path": "a.py"}'
TEXT = ("I read ", "the file.")


@pytest.fixture(params=WIRES.values(), ids=WIRES.keys())
def wire(request: pytest.FixtureRequest) -> Wire:
    return request.param


@pytest.fixture
def ask(opened, serve):
    """Opens the wire's model at a server that gives this answer, and asks it once. Gives what came and the fault."""

    async def _ask(
        wire: Wire, body: bytes, status: int = 200, headers: dict[str, str] | None = None, **more: Any
    ) -> tuple[Any, ModelFault | None]:
        async def answer(request: web.Request) -> web.StreamResponse:
            await request.read()
            kind = wire.content_type if status == 200 else "application/json"
            response = web.StreamResponse(status=status, headers={"Content-Type": kind, **(headers or {})})
            await response.prepare(request)
            for at in range(0, len(body), 65_536):
                await response.write(body[at : at + 65_536])
            await response.write_eof()
            return response

        asked = await opened(await serve({"POST /{path:.*}": answer}), wire.model, env=wire.env, context=200_000)
        try:
            await asked.ask(**more)
        except ModelFault as fault:
            assert "\n" not in fault.text
            return asked, fault
        return asked, None

    return _ask


def calls(asked: Any) -> list[str]:
    return [part.call.arguments for part in asked.of(CallPart)]


def finish(asked: Any) -> str:
    return asked.of(EndPart)[0].finish


def error_body(message: str, **more: str) -> bytes:
    """An error that each format's reader finds its sentence in."""
    return json.dumps({"error": {"message": message, **more}, "message": message, "type": "error"}).encode()


LONG = "This model's maximum context length is 4096 tokens. However, your messages resulted in 9000 tokens."


@pytest.mark.parametrize(
    ("status", "message", "kind", "retryable"),
    [
        (429, "Rate limit reached", "rate-limit", True),
        (429, "insufficient_quota: You exceeded your current quota", "quota", False),
        (500, "oops", "server", True),
        (503, "overloaded", "server", True),
        (529, "overloaded", "server", True),
        (408, "too slow", "timeout", True),
        (400, LONG, "context", False),
        (400, "blocked by content management policy", "filtered", False),
        (401, f"Incorrect API key provided: {KEY}", "auth", False),
    ],
)
async def test_an_http_error_has_the_same_kind_in_each_format(wire, ask, status, message, kind, retryable):
    asked, fault = await ask(wire, error_body(message), status)
    assert fault is not None and (fault.kind, fault.retryable) == (kind, retryable), fault
    assert asked.parts == [] and KEY not in fault.text


async def test_a_bad_gateways_web_page_is_a_server_fault(wire, ask):
    _, fault = await ask(wire, b"<html><body>502 Bad Gateway</body></html>", 502, {"Content-Type": "text/html"})
    assert fault is not None and (fault.kind, fault.retryable) == ("server", True)


@pytest.mark.parametrize("wait", [1, 120])
async def test_the_wait_that_a_server_asks_for_is_handed_on(wire, ask, wait):
    _, fault = await ask(wire, error_body("slow down"), 429, {"Retry-After": str(wait)})
    assert fault is not None and (fault.kind, fault.retry_after) == ("rate-limit", wait)


@pytest.mark.parametrize("body", [b"<html><body>Welcome</body></html>", b'{"hello": ', b"", b'{"ok": true}'])
async def test_a_200_that_is_not_an_answer_is_a_fault_and_never_an_empty_success(wire, ask, body):
    asked, fault = await ask(wire, body, headers={"Content-Type": "text/html"})
    assert fault is not None and fault.kind == "bad-reply", fault
    assert asked.parts == []


async def test_an_answer_without_content_is_empty(wire, ask):
    asked, fault = await ask(wire, wire.body(Said()))
    assert fault is None and finish(asked) == "empty" and not calls(asked)


async def test_missing_usage_is_not_made_up(wire, ask):
    asked, fault = await ask(wire, wire.body(Said(TEXT, usage=False)))
    assert fault is None and asked.text == "".join(TEXT)
    assert not any(part.tokens.in_ or part.tokens.out for part in asked.of(UsagePart))


async def test_a_stream_that_breaks_off_anywhere_keeps_its_text_and_makes_no_call(wire, ask):
    said = Said(TEXT, calls=[("one", PATH)], finish="tool_calls")
    events = wire.write(said)
    for end in range(1, len(events) - wire.tail + 1):
        body = wire.encode(events[:end]).removesuffix(b"data: [DONE]\n\n")
        asked, fault = await ask(wire, body)
        assert fault is not None and (fault.kind, fault.retryable) == ("cut", True), (end, fault)
        assert "".join(TEXT).startswith(asked.text) and calls(asked) == []
    assert asked.text == "".join(TEXT)


async def test_an_error_in_the_middle_of_a_stream_keeps_the_text_and_can_be_tried_again(wire, ask):
    events = wire.write(Said(TEXT, calls=[("one", PATH)], finish="tool_calls"))
    asked, fault = await ask(wire, wire.encode([*events[: -wire.tail], wire.failed]))
    assert fault is not None and fault.retryable and "engine crashed" in fault.text
    assert asked.text == "".join(TEXT) and calls(asked) == []


async def test_garbage_in_the_middle_of_a_stream_makes_no_call(wire, ask):
    events = wire.write(Said(TEXT, calls=[("one", PATH)], finish="tool_calls"))
    asked, fault = await ask(wire, wire.encode(events[: -wire.tail]).removesuffix(b"data: [DONE]\n\n") + wire.garbage)
    assert fault is not None and (fault.kind, fault.retryable) == ("cut", True)
    assert asked.text == "".join(TEXT) and calls(asked) == []


async def test_an_unknown_finish_reason_is_an_end(wire, ask):
    asked, fault = await ask(wire, wire.body(Said(TEXT, finish="because_i_say_so")))
    assert fault is None and asked.text == "".join(TEXT)
    # Responses calls such an answer incomplete: it is never taken for a whole one.
    assert finish(asked) == ("length" if wire is WIRES["responses"] else "stop")


async def test_calls_count_whatever_the_finish_reason_says(wire, ask):
    asked, fault = await ask(wire, wire.body(Said(TEXT, calls=[("one", PATH)], finish="stop")))
    assert fault is None and finish(asked) == "tool_calls"
    assert [json.loads(arguments) for arguments in calls(asked)] == [json.loads(PATH)]


async def test_a_call_at_which_the_token_limit_was_reached_never_runs(wire, ask):
    asked, fault = await ask(wire, wire.body(Said(TEXT, calls=[("one", PATH)], finish="length")))
    assert fault is None and finish(asked) == "length" and calls(asked) == []


@pytest.mark.parametrize("arguments", ["{'path': 'a'}", '{"path": "a"', "not json"])
async def test_malformed_arguments_are_handed_to_the_tool_as_they_are(wire, ask, arguments):
    if not wire.free_arguments:
        pytest.skip("arguments travel as JSON")
    asked, fault = await ask(wire, wire.body(Said(calls=[("one", arguments)], finish="tool_calls")))
    assert fault is None and calls(asked) == [arguments]


async def test_empty_arguments_are_an_empty_object(wire, ask):
    asked, fault = await ask(wire, wire.body(Said(calls=[("one", "{}")], finish="tool_calls")))
    assert fault is None and [json.loads(arguments or "{}") for arguments in calls(asked)] == [{}]


@pytest.mark.parametrize("ids", [("same", "same"), (None, None), ("", "")], ids=["duplicate", "missing", "empty"])
async def test_two_calls_stay_two_whatever_their_ids(wire, ask, ids):
    two = [(ids[0], '{"path": "a.py"}'), (ids[1], '{"path": "b.py"}')]
    asked, fault = await ask(wire, wire.body(Said(calls=two, finish="tool_calls")))
    assert fault is None
    assert [json.loads(arguments)["path"] for arguments in calls(asked)] == ["a.py", "b.py"]


async def test_reasoning_is_kept_apart_from_the_text(wire, ask):
    asked, fault = await ask(wire, wire.body(Said(TEXT, reasoning="Let me think.")))
    assert fault is None and (asked.reasoning, asked.text) == ("Let me think.", "".join(TEXT))


async def test_a_filtered_answer_is_named(wire, ask):
    if wire is WIRES["ollama"]:
        pytest.skip("Ollama filters nothing")
    asked, fault = await ask(wire, wire.body(Said(TEXT, finish="filtered")))
    assert fault.kind == "filtered" if fault is not None else finish(asked) in ("refusal", "filtered")
    assert calls(asked) == []


async def test_the_same_piece_a_hundred_times_is_a_chant_that_is_not_retried(wire, ask):
    asked, fault = await ask(wire, wire.body(Said(["again and again "] * 400)))
    assert fault is not None and (fault.kind, fault.retryable) == ("chant", False), fault
    assert asked.text.startswith("again and again ")


async def test_a_character_split_between_packets_arrives_whole(wire, opened, serve):
    text = "Grüße aus 東京 🦀 " * 3
    body = wire.body(Said([text]))

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": wire.content_type})
        await response.prepare(request)
        for at in range(0, len(body), 7):
            await response.write(body[at : at + 7])
            await asyncio.sleep(0)
        return response

    asked = await opened(await serve({"POST /{path:.*}": answer}), wire.model, env=wire.env, context=200_000)
    await asked.ask()
    assert asked.text == text


async def test_ten_calls_of_one_answer_keep_their_order(wire, ask):
    ten = [(f"c{number}", json.dumps({"path": f"{number}.py"})) for number in range(10)]
    asked, fault = await ask(wire, wire.body(Said(calls=ten, finish="tool_calls")))
    assert fault is None and [json.loads(arguments)["path"] for arguments in calls(asked)] == [
        f"{number}.py" for number in range(10)
    ]


async def test_an_answer_of_five_megabytes_arrives_whole(wire, ask):
    pieces = [f"{number:06} " + "abcdefghij" * 100 for number in range(5_000)]
    asked, fault = await ask(wire, wire.body(Said(pieces)), max_tokens=4_000_000)
    assert fault is None and asked.text == "".join(pieces)


async def test_an_answer_far_above_its_limit_is_cut(wire, ask):
    pieces = [f"{number:06} " + "abcdefghij" * 100 for number in range(2_000)]
    asked, fault = await ask(wire, wire.body(Said(pieces, calls=[("one", PATH)])), max_tokens=500)
    assert fault is None and finish(asked) == "length" and calls(asked) == []
    assert len(asked.text) < 200_000


async def test_a_cancel_closes_the_connection_within_a_second(wire, opened, serve):
    gone = asyncio.Event()
    first = wire.encode(wire.write(Said(TEXT))[: -wire.tail]).removesuffix(b"data: [DONE]\n\n")

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": wire.content_type})
        await response.prepare(request)
        await response.write(first)
        try:
            await asyncio.Event().wait()
        finally:
            gone.set()
        return response

    asked = await opened(await serve({"POST /{path:.*}": answer}), wire.model, env=wire.env, context=200_000)
    asking = asyncio.create_task(asked.ask())
    async with asyncio.timeout(30):
        while not asked.text:
            await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    async with asyncio.timeout(5):
        await gone.wait()
