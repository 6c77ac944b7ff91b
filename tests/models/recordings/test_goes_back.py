"""Reasoning goes back to the provider that made it, in the place and form in which the recording projects sent it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from fakes.providers.recorded import KEYS, Recording, Replay, name_of, recordings

from rundry.agent.protocol import CallPart, Message, OpaquePart, OpaqueRef, ToolCall

FIELDS = ("reasoning_content", "reasoning", "reasoning_details")


def sealed(message: dict[str, Any]) -> set[str]:
    """Every text of an assistant message's reasoning: words, signatures, encrypted data."""
    content = message.get("content")
    blocks = [b for b in content if "thinking" in b.get("type", "")] if isinstance(content, list) else []
    return set(texts([message.get(name) for name in FIELDS] + blocks))


def texts(value: Any) -> Iterator[str]:
    """The long texts in a JSON value; kinds, formats and ids are short."""
    if isinstance(value, str) and len(value) > 40:
        yield value.strip()
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts(child)


def answers_sent(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [m for m in request.get("messages", []) if m["role"] == "assistant"]


def pairs() -> list[tuple[Recording, set[str]]]:
    """A first answer, and what of its reasoning the recording project sent back in the next turn."""
    all_ = {r.name: r for r in recordings() if r.wire in ("openai", "anthropic")}
    found: list[tuple[Recording, set[str]]] = []
    for name, first in all_.items():
        second = all_.get(f"{name[:-2]}-1") if name.endswith("-0") else None
        if second is None or first.expected is None:
            continue
        given = first.body.decode(errors="replace") + first.expected["reasoning"]
        sent = {text for m in answers_sent(second.request) for text in sealed(m)}
        if wanted := {text for text in sent if text in given}:
            found.append((first, wanted))
    return found


def ours(parts: list[Any], text: str) -> tuple[list[Message], dict[str, bytes]]:
    """The conversation after the first answer, as the journal would tell it."""
    opaque = next((p.opaque for p in parts if isinstance(p, OpaquePart)), None)
    assert opaque is not None, "the answer has parts that must go back"
    calls = [
        ToolCall(f"call_1_{i}", p.call.tool, p.call.arguments) for i, p in enumerate(parts) if isinstance(p, CallPart)
    ]
    ref = OpaqueRef(maker=opaque.maker, sha="s")
    answer = Message(role="assistant", text=text, calls=calls, opaque=ref)
    results = [Message(role="tool", call_id=c.call_id, text="21 degrees") for c in calls]
    rest = results or [Message(role="user", text="go on")]
    return [Message(role="user", text="go"), answer, *rest], {"s": msgspec.json.encode(opaque.data)}


@pytest.mark.parametrize("pair", pairs(), ids=lambda p: f"{p[0].wire}-{p[0].provider}-{p[0].name}")
async def test_a_second_request_carries_what_the_recorded_one_carried(opened, serve, pair):
    first, wanted = pair
    replay = Replay([first])
    address = f"{await serve(replay.routes)}/{first.name}/whole"
    asked = await opened(address, name_of(first), env={**KEYS, "RUNDRY_READ_LEAKS": "0"}, context=200_000)
    await asked.ask(max_tokens=100_000)
    messages, blobs = ours(asked.parts, asked.text)
    await asked.ask(messages=messages, blobs=blobs, max_tokens=100_000)
    (answer,) = answers_sent(json.loads(replay.bodies[first.name]))
    sent = sealed(answer)
    assert {text for text in wanted if not any(text in ours for ours in sent)} == set()
