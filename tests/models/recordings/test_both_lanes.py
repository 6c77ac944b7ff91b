"""A server that both lanes can reach gives the same parts through either: the direct one and litellm."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from fakes.providers.recorded import KEYS, Replay, breaks_off, name_of, recordings
from sampling import sampled

from rundry.agent.models.endpoint import Endpoint
from rundry.agent.models.key_rule import host_of
from rundry.agent.models.lanes.timer import StallTimeouts
from rundry.agent.models.lanes.via_litellm.litellm_lane import LitellmLane
from rundry.agent.models.remote_model import ModelFacts, RemoteModel
from rundry.agent.models.request_fields import RequestFields
from rundry.agent.protocol import CallPart, EndPart, Message, OpaquePart, ReasoningPart, Request, TextPart, UsagePart

ALL = [
    r
    for r in recordings()
    if r.wire in ("openai", "anthropic") and r.status == 200 and not (r.has_several_choices or breaks_off(r))
]


def through_litellm(base: str, name: str) -> RemoteModel:
    provider, _, model = name.partition("/")
    provider = provider if provider == "anthropic" else "openai"
    hosts = frozenset({host_of(base)})
    at = Endpoint(provider=provider, model=model, api_base=base, key="k", key_names=(), local=True, hosts=hosts)
    timeouts = StallTimeouts(first=20, between=20)
    lane = LitellmLane(at, RequestFields(at, None), seconds=60)
    return RemoteModel(at, lane, ModelFacts(window=200_000), name=name, timeouts=timeouts)


async def read(model: Any) -> dict[str, Any]:
    """What the parts of one answer amount to, however they were cut."""
    request = Request(messages=[Message(role="user", text="go")], max_tokens=100_000)
    parts = [part async for part in model.stream(request)]
    return {
        "text": "".join(p.text for p in parts if isinstance(p, TextPart)),
        "reasoning": "".join(p.text for p in parts if isinstance(p, ReasoningPart)),
        "calls": [(p.call.tool, json.loads(p.call.arguments or "{}")) for p in parts if isinstance(p, CallPart)],
        "usage": [msgspec.structs.asdict(p.tokens) for p in parts if isinstance(p, UsagePart)],
        "end": [p for p in parts if isinstance(p, EndPart)],
        "goes back": any(isinstance(p, OpaquePart) for p in parts),
    }


@pytest.mark.parametrize(
    "recording", sampled(ALL, 30, lambda r: r.wire), ids=lambda r: f"{r.wire}-{r.provider}-{r.name}"
)
async def test_both_lanes_read_a_recorded_answer_alike(opened, serve, recording):
    base = f"{await serve(Replay([recording]).routes)}/{recording.name}/whole"
    direct = await opened(base, name_of(recording), env={**KEYS, "RUNDRY_READ_LEAKS": "0"}, context=200_000)
    assert await read(direct.model) == await read(through_litellm(base, name_of(recording)))
