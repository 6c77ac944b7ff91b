"""Run the scripted model as a lane. Its answers pass through the same reader as those of a real server."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from ...protocol import FREE, ModelSpec, Request, UserError
from ..counting import Counter
from ..endpoint import NO_KEY, Endpoint
from ..lanes.chat_chunks import ChatReader
from ..lanes.chat_request import chat_messages
from ..lanes.timer import StallTimeouts, Timer
from ..provider_traits import CUSTOM_SERVER, DEMO
from ..remote_model import ModelFacts, RemoteModel
from .script import ScriptedAnswer, next_answer

if TYPE_CHECKING:
    from ..answer import Answer, Shown

PACE = 60.0
"""Tokens per second; about the speed at which people read."""
_WINDOW = 131_072
_PIECE = re.compile(r"\s*\S{1,6}|\s+")


def open_demo(spec: ModelSpec, model: str, env: Mapping[str, str]) -> RemoteModel:
    """Open the scripted model. `RUNDRY_DEMO_PACE` sets its speed in tokens per second; 0 means no delay."""
    at = Endpoint(provider=DEMO, model=model, api_base=None, key=NO_KEY, key_names=(), local=True)
    window = spec.context or _WINDOW
    facts = ModelFacts(window=window, max_output=min(8192, window), price=FREE, sees_images=False)
    return RemoteModel(at, _ScriptedLane(at, _pace(env)), facts, name=spec.name, timeouts=StallTimeouts(first=60.0))


def _pace(env: Mapping[str, str]) -> float:
    try:
        return max(float(env.get("RUNDRY_DEMO_PACE") or PACE), 0.0)
    except ValueError as e:
        raise UserError(
            f"RUNDRY_DEMO_PACE is not a number: {env.get('RUNDRY_DEMO_PACE')}. Set it to tokens per second, such as 60"
        ) from e


class _ScriptedLane:
    """A lane that streams the scripted answers as bytes of an event stream."""

    fields = None

    def __init__(self, at: Endpoint, pace: float) -> None:
        self._at = at
        self._pace = pace

    async def stream(self, request: Request, answer: Answer, timer: Timer) -> AsyncGenerator[Shown, None]:
        messages = chat_messages(request, self._at, CUSTOM_SERVER)
        reply = next_answer(messages, {t.name for t in request.tools})
        reader = ChatReader(answer)
        for delta, share in _deltas(reply):
            for part in reader.feed(_event({"choices": [{"index": 0, "delta": delta}]})):
                yield part
            await asyncio.sleep(share / self._pace if self._pace else 0)
        for event in (_event(_last(messages, reply)), b"data: [DONE]\n\n"):
            for part in reader.feed(event):
                yield part
        for part in reader.end():
            yield part


def _deltas(reply: ScriptedAnswer) -> Iterator[tuple[dict[str, Any], float]]:
    """Yield each delta, and its duration as a fraction of one token's time."""
    for piece in _PIECE.findall(reply.reasoning):
        yield {"reasoning_content": piece}, 1.0
    for piece in _PIECE.findall(reply.text):
        yield {"content": piece}, 1.0
    for index, (tool, arguments) in enumerate(reply.calls):
        yield {"tool_calls": [_fragment(index, f"demo_{index}", tool, "")]}, 0.0
        for piece in _PIECE.findall(msgspec.json.encode(arguments).decode()):
            yield (
                {"tool_calls": [_fragment(index, None, None, piece)]},
                0.25,
            )  # arguments stream faster, because nobody reads them as they arrive


def _fragment(index: int, call_id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    return {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _last(messages: list[dict[str, Any]], reply: ScriptedAnswer) -> dict[str, Any]:
    count = Counter(DEMO).text
    prompt = count(msgspec.json.encode(messages).decode())
    out = count(reply.reasoning + reply.text) + count(msgspec.json.encode(reply.calls).decode() if reply.calls else "")
    usage = {"prompt_tokens": prompt, "completion_tokens": out, "total_tokens": prompt + out}
    finish = "tool_calls" if reply.calls else "stop"
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage}


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(chunk) + b"\n\n"
