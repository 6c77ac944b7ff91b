"""What a provider reports about a call, complete or not, in each wire format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web
from fakes.providers.wires import WIRES, Said, Wire
from fakes.server import ScriptedServer
from fakes.turns import Turn, say

from rundry.agent.protocol import ModelFault, Tokens, UsagePart

NAMES = {
    "in": {"prompt_tokens", "input_tokens", "promptTokenCount", "prompt_eval_count", "inputTokens"},
    "out": {"completion_tokens", "output_tokens", "candidatesTokenCount", "eval_count", "outputTokens"},
    "total": {"total_tokens", "totalTokenCount", "totalTokens"},
}
"""What each format calls a figure. The wires of the fakes report 90 tokens in and 31 out."""
WITH_TOTAL = [name for name in WIRES if name not in ("anthropic", "ollama", "cohere")]
WITH_COST = ("chat", "anthropic", "responses")
DROP = object()


def changed(value: Any, **figures: Any) -> Any:
    """The same events with other figures of usage. DROP: without it."""
    if isinstance(value, list):
        return [changed(item, **figures) for item in value]
    if not isinstance(value, dict):
        return value
    out: dict[str, Any] = {}
    for name, item in value.items():
        which = next((which for which, names in NAMES.items() if name in names), None)
        new = figures.get(which, item) if which else changed(item, **figures)
        if new is not DROP:
            out[name] = new
    return out


@pytest.fixture
def report(opened, serve) -> Callable[..., Any]:
    """Asks a server for an answer of these events; gives the reported usage, or None."""

    async def _report(wire: Wire, events: list[dict[str, Any]], headers: dict[str, str] | None = None) -> Any:
        async def answer(request: web.Request) -> web.Response:
            await request.read()
            sent = {"Content-Type": wire.content_type, **(headers or {})}
            return web.Response(body=wire.encode(events), headers=sent)

        asked = await opened(await serve({"POST /{path:.*}": answer}), wire.model, env=wire.env, context=200_000)
        await asked.ask()
        assert asked.text == "I read it."
        return next(iter(asked.of(UsagePart)), None)

    return _report


def answer(wire: Wire) -> list[dict[str, Any]]:
    return wire.write(Said(("I read it.",)))


@pytest.mark.parametrize("name", WIRES)
async def test_a_part_that_is_missing_zero_negative_or_not_a_number_is_not_made_up(report, name):
    for nothing in (DROP, 0, -5, None, "many", True, [], 1e300):
        usage = await report(WIRES[name], changed(answer(WIRES[name]), out=nothing, total=DROP))
        assert usage is not None and (usage.tokens.in_, usage.tokens.out) == (90, 0), (nothing, usage)
        usage = await report(WIRES[name], changed(answer(WIRES[name]), **{"in": nothing}, total=DROP))
        assert usage is not None and (usage.tokens.in_, usage.tokens.out) == (0, 31), (nothing, usage)


@pytest.mark.parametrize("name", WITH_TOTAL)
async def test_a_total_fills_the_part_that_is_missing(report, name):
    wire = WIRES[name]
    usage = await report(wire, changed(answer(wire), **{"in": DROP}, total=1_121))
    assert usage == UsagePart(Tokens(1_090, 31))
    usage = await report(wire, changed(answer(wire), out=0, total=1_121))
    assert usage == UsagePart(Tokens(90, 1_031))


@pytest.mark.parametrize("name", WITH_TOTAL)
async def test_a_total_alone_is_reported_as_the_sum(report, name):
    wire = WIRES[name]
    usage = await report(wire, changed(answer(wire), **{"in": DROP}, out=DROP, total=13_000))
    assert usage == UsagePart(Tokens(), total=13_000)


@pytest.mark.parametrize("name", WITH_TOTAL)
async def test_the_larger_of_the_total_and_the_parts_counts(report, name):
    wire = WIRES[name]
    assert (await report(wire, changed(answer(wire), total=5_000))).tokens.total == 5_000
    assert (await report(wire, changed(answer(wire), total=7))).tokens == Tokens(90, 31)


CHUNKS = {
    "the prompt first and the answer last": ([{"prompt_tokens": 900}, {"completion_tokens": 70}], Tokens(900, 70)),
    "zeros in between": (
        [{"prompt_tokens": 900, "completion_tokens": 0}, {"prompt_tokens": 0, "completion_tokens": 70}],
        Tokens(900, 70),
    ),
    "running totals": (
        [{"prompt_tokens": 900, "completion_tokens": n, "total_tokens": 900 + n} for n in (1, 20, 70)],
        Tokens(900, 70),
    ),
    "a last one that is empty": ([{"prompt_tokens": 900, "completion_tokens": 70}, {}, {"cost": 0}], Tokens(900, 70)),
    "a last one that corrects": (
        [{"prompt_tokens": 915, "completion_tokens": 3}, {"prompt_tokens": 900, "completion_tokens": 70}],
        Tokens(900, 70),
    ),
    "more cached than prompt": (
        [{"prompt_tokens": 100, "completion_tokens": 70, "prompt_tokens_details": {"cached_tokens": 800}}],
        Tokens(900, 70, 800),
    ),
    "cached besides the prompt in the total": (
        [
            {
                "prompt_tokens": 600,
                "completion_tokens": 70,
                "total_tokens": 970,
                "prompt_tokens_details": {"cached_tokens": 300},
            }
        ],
        Tokens(900, 70, 300),
    ),
    "more reasoning than answer": (
        [{"prompt_tokens": 900, "completion_tokens": 20, "completion_tokens_details": {"reasoning_tokens": 50}}],
        Tokens(900, 70, 0, 50),
    ),
    "details that are no objects": (
        [{"prompt_tokens": 900, "completion_tokens": 70, "prompt_tokens_details": [], "completion_tokens_details": 7}],
        Tokens(900, 70),
    ),
    "whole numbers as fractions and as text": ([{"prompt_tokens": 900.0, "completion_tokens": "70"}], Tokens(900, 70)),
    "the names of the Responses API": ([{"input_tokens": 900, "output_tokens": 70}], Tokens(900, 70)),
}


@pytest.mark.parametrize("chunks", CHUNKS)
async def test_usage_in_several_or_odd_chunks_adds_up(report, chunks):
    reports, expected = CHUNKS[chunks]
    *said, end, _ = answer(WIRES["chat"])
    events = [*said, end, *({**end, "choices": [], "usage": usage} for usage in reports)]
    assert (await report(WIRES["chat"], events)).tokens == expected


async def test_zeros_at_the_end_of_an_anthropic_stream_do_not_erase_its_beginning(report):
    wire = WIRES["anthropic"]
    events = answer(wire)
    events[0]["message"]["usage"] = {"input_tokens": 90, "cache_read_input_tokens": 800, "output_tokens": 1}
    events[-2]["usage"] = {"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 31}
    assert (await report(wire, events)).tokens == Tokens(890, 31, 800)


COSTS = {
    "number": ({"cost": 0.0125}, 0.0125),
    "text": ({"cost": "0.0125"}, 0.0125),
    "Perplexity": ({"cost": {"input_tokens_cost": 0.001, "request_cost": 0.0115, "total_cost": 0.0125}}, 0.0125),
    "Hyper": ({"cost": {"usd": 0.0125, "hypercredits": 0.25}}, 0.0125),
    "xAI": ({"cost_in_usd_ticks": 125_000_000}, 0.0125),
    "DeepInfra": ({"estimated_cost": 0.0125}, 0.0125),
    "OpenRouter with the user's own key": (
        {"cost": 0.0025, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.01}},
        0.0125,
    ),
    "OpenRouter with its key": (
        {"cost": 0.0125, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.01}},
        0.0125,
    ),
    "free": ({"cost": 0}, 0.0),
    "another currency": ({"cost": 0.0125, "currency": "EUR"}, None),
    "negative": ({"cost": -1}, None),
    "not finite": ({"cost": "NaN"}, None),
    "infinite": ({"cost": "Infinity"}, None),
    "no number": ({"cost": "free"}, None),
    "true": ({"cost": True}, None),
    "nothing": ({"cost": None}, None),
    "a list": ({"cost": [1]}, None),
}


@pytest.mark.parametrize("case", COSTS)
@pytest.mark.parametrize("name", WITH_COST)
async def test_the_cost_of_a_call_is_read(report, name, case):
    wire, (fields, expected) = WIRES[name], COSTS[case]
    events = answer(wire)
    last = events[-2] if name == "anthropic" else events[-1]
    usage = last["response"]["usage"] if name == "responses" else last["usage"]
    usage.update(fields)
    assert (await report(wire, events)).usd == (None if expected is None else pytest.approx(expected))


async def test_the_cost_in_a_header_a_chunk_of_its_own_or_the_metadata_of_vercel_is_read(report):
    wire = WIRES["chat"]
    usage = await report(wire, answer(wire), {"x-litellm-response-cost": "0.0125"})
    assert usage == UsagePart(Tokens(90, 31), usd=0.0125)
    for nothing in ("", "None", "nan", "-1"):
        assert (await report(wire, answer(wire), {"x-litellm-response-cost": nothing})).usd is None, nothing
    assert (await report(wire, [*answer(wire), {"choices": [], "cost": "0.0125"}])).usd == 0.0125
    *rest, end, used = answer(wire)
    end["choices"][0]["delta"]["provider_metadata"] = {"gateway": {"cost": "0.0125", "marketCost": "0.0125"}}
    assert (await report(wire, [*rest, end, used])).usd == 0.0125


async def test_a_header_with_a_cost_does_not_make_a_cut_answer_complete(opened, serve):
    wire = WIRES["chat"]

    async def answer_cut(request: web.Request) -> web.Response:
        await request.read()
        body = wire.encode(answer(wire)[:1]).removesuffix(b"data: [DONE]\n\n")
        return web.Response(body=body, headers={"Content-Type": wire.content_type, "x-litellm-response-cost": "0.01"})

    asked = await opened(await serve({"POST /{path:.*}": answer_cut}), wire.model)
    with pytest.raises(ModelFault) as caught:
        await asked.ask()
    assert caught.value.kind == "cut"
    assert caught.value.usage == UsagePart(Tokens(), usd=0.01)


async def test_what_was_reported_before_an_error_comes_with_the_fault(opened, serve, report):
    wire = WIRES["responses"]
    used = {"input_tokens": 9_000, "output_tokens": 500, "total_tokens": 9_500}
    failed = {"type": "response.failed", "response": {"status": "failed", "error": {"message": "no"}, "usage": used}}
    with pytest.raises(ModelFault) as caught:
        await report(wire, [failed])
    assert caught.value.usage == UsagePart(Tokens(9_000, 500))


async def test_a_whole_object_in_place_of_a_stream_reports_its_cost(opened):
    body = (
        b'{"choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],'
        b' "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7, "cost": 0.5}}'
    )
    with ScriptedServer([Turn(raw=body, raw_type="application/json"), say("x")]) as server:
        asked = await opened(server.base_url)
        await asked.ask()
    assert asked.of(UsagePart) == [UsagePart(Tokens(5, 2), usd=0.5)]
