"""Answers of real providers, replayed over HTTP through the product's own path.

Without `RUNDRY_RECORDINGS` (a folder of recordings) these tests are skipped.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from fakes.providers.recorded import KEYS, SPLITS, Recording, Replay, breaks_off, fault_kind, name_of, recordings
from sampling import sampled

from rundry.agent.protocol import CallPart, EndPart, ModelFault, UsagePart

ALL = [r for r in recordings() if not r.has_several_choices]
BEHIND_LITELLM = [
    r for r in ALL if r.status == 200 and r.is_compared and r.wire not in ("openai", "anthropic")
]  # fmt: skip
FINISHES = {
    "stop": "stop", "tool_calls": "tool_calls", "length": "length", "end_turn": "stop", "tool_use": "tool_calls",
    "max_tokens": "length", "COMPLETE": "stop", "TOOL_CALL": "tool_calls", "STOP": "stop", "completed": "stop",
    "guardrail_intervened": "refusal",
}  # fmt: skip
"""What the recorded finish reasons mean. With calls `stop` is `tool_calls`; without anything it is `empty`."""


OF_EACH = 12
"""Answers of each format, cut in each way, that the suite replays by default; `-m long` replays the others."""


def name(value: Recording | str) -> str:
    return value if isinstance(value, str) else f"{value.wire}-{value.provider}-{value.name}"


def differences(recording: Recording, parts: list[Any], text: str, reasoning: str) -> list[str]:
    """What the product reads differently from the independent parser."""
    expected = recording.expected
    assert expected is not None
    calls = [(p.call.tool, _json(p.call.arguments)) for p in parts if isinstance(p, CallPart)]
    wanted = [(name, _json(arguments)) for name, arguments, _ in expected["calls"]]
    found: list[str] = []
    if text != expected["text"]:
        found.append(f"text {text[-80:]!r} is not {expected['text'][-80:]!r}")
    if reasoning != expected["reasoning"]:
        found.append(f"reasoning {reasoning[-80:]!r} is not {expected['reasoning'][-80:]!r}")
    if calls != wanted:
        found.append(f"calls {calls!r} are not {wanted!r}")
    found += _usage(expected, parts)
    finish = next((p.finish for p in parts if isinstance(p, EndPart)), None)
    meant = FINISHES.get(expected["finish"] or "", "stop")
    if calls and meant == "stop":
        meant = "tool_calls"
    if meant == "stop" and not (text or reasoning):
        meant = "empty"
    if finish != meant:
        found.append(f"finish {finish} is not {meant}")
    return found


def _usage(expected: dict[str, Any], parts: list[Any]) -> list[str]:
    tokens = expected["tokens"]
    got = next((p.tokens for p in reversed(parts) if isinstance(p, UsagePart)), None)
    if not tokens or not (tokens.get("i") or tokens.get("o")):
        return []
    if got is None:
        return [f"usage is missing: {tokens}"]
    if tokens.get("r") and tokens["r"] > tokens["o"]:  # the provider bills the reasoning besides
        tokens = {**tokens, "o": tokens["o"] + tokens["r"]}
    pairs = {"i": got.in_, "o": got.out, "c": got.cached, "r": got.reasoning}
    return [
        f"usage {k} {v} is not {tokens[k]}" for k, v in pairs.items() if tokens.get(k) is not None and v != tokens[k]
    ]


def _json(arguments: str) -> Any:
    try:
        return json.loads(arguments or "{}")
    except json.JSONDecodeError:
        return arguments


@pytest.mark.parametrize(
    ("recording", "split"),
    sampled([(r, split) for r in ALL for split in SPLITS], OF_EACH, lambda case: (case[0].wire, case[1])),
    ids=name,
)
async def test_a_recorded_answer_comes_through_equal(opened, serve, recording, split):
    base = await serve(Replay([recording]).routes)
    asked = await opened(f"{base}/{recording.name}/{split}", name_of(recording), env=KEYS, context=200_000)
    if recording.status != 200:
        with pytest.raises(ModelFault) as caught:
            await asked.ask()
        assert caught.value.kind == fault_kind(recording), caught.value.text
        return
    if breaks_off(recording):
        with pytest.raises(ModelFault) as caught:
            await asked.ask(max_tokens=100_000)
        assert (caught.value.kind, asked.text) == ("cut", recording.expected["text"])
        return
    if not recording.is_compared:
        await asked.ask(max_tokens=100_000, tools=[])
        assert asked.text and asked.of(UsagePart) and asked.of(EndPart)
        return
    await asked.ask(max_tokens=100_000)
    assert differences(recording, asked.parts, asked.text, asked.reasoning) == []


@pytest.mark.parametrize("recording", sampled(BEHIND_LITELLM, OF_EACH, lambda r: r.wire), ids=name)
async def test_a_recorded_answer_that_stops_halfway_is_cut_unless_its_finish_had_come(opened, serve, recording):
    base = await serve(Replay([recording]).routes)
    asked = await opened(f"{base}/{recording.name}/half", name_of(recording), env=KEYS, context=200_000)
    try:
        await asked.ask(max_tokens=100_000)
    except ModelFault as fault:
        assert (fault.kind, asked.of(CallPart)) == ("cut", [])
    else:
        found = differences(recording, asked.parts, asked.text, asked.reasoning)
        assert [f for f in found if not f.startswith("usage")] == []


def stated_cost(recording: Recording) -> float | None:
    """What a person finds in the recorded body: the largest amount in USD for the whole call."""
    body = recording.body.decode(errors="replace")
    usd = [float(m) for m in re.findall(r'"(?:cost|total_cost|usd)"\s*:\s*"?([0-9][-0-9.e]*)', body)]
    usd += [float(m) / 1e10 for m in re.findall(r'"cost_in_usd_ticks"\s*:\s*([0-9]+)', body)]
    return max(usd, default=None)


PRICED = [r for r in ALL if r.status == 200 and stated_cost(r) is not None]


@pytest.mark.parametrize("recording", sampled(PRICED, OF_EACH, lambda r: (r.wire, r.provider)), ids=name)
async def test_the_cost_that_a_recorded_answer_states_is_reported(opened, serve, recording):
    base = await serve(Replay([recording]).routes)
    asked = await opened(f"{base}/{recording.name}/whole", name_of(recording), env=KEYS, context=200_000)
    await asked.ask(max_tokens=100_000)
    (usage,) = asked.of(UsagePart)
    assert usage.usd == pytest.approx(stated_cost(recording))
