"""Run the scripted model as its own lane: it streams through the same reader as a real server."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any

import msgspec

from ...protocol import FREE, ModelSpec, Request, UserError
from ..answer import Answer, Shown
from ..counting import Counter
from ..endpoint import NO_KEY, Endpoint
from ..lanes.chat_chunks import ChatReader
from ..lanes.chat_request import chat_messages
from ..lanes.patience import Patience, Timer
from ..pricing.prices import NO_CHARGE
from ..remote import Facts, RemoteModel
from ..traits import FOREIGN_SERVER
from .script import Say, next_words

PROVIDER = "demo"
PACE = 60.0
"""Tokens a second, about reading speed."""
_WINDOW = 131_072
_PIECE = re.compile(r"\s*\S{1,6}|\s+")


def open_demo(spec: ModelSpec, model: str, env: Mapping[str, str]) -> RemoteModel:
    """Open the scripted model. `RUNDRY_DEMO_PACE` sets its tokens a second; 0 is without delay."""
    at = Endpoint(provider=PROVIDER, model=model, api_base=None, key=NO_KEY, key_names=(), local=True)
    window = spec.context or _WINDOW
    facts = Facts(window=window, max_output=min(8192, window), price=FREE, tariff=NO_CHARGE, sees_images=False)
    return RemoteModel(at, _ScriptedLane(at, _pace(env)), facts, name=spec.name, patience=Patience(first=60.0))


def _pace(env: Mapping[str, str]) -> float:
    try:
        return max(float(env.get("RUNDRY_DEMO_PACE") or PACE), 0.0)
    except ValueError as e:
        raise UserError("RUNDRY_DEMO_PACE is not a number of tokens a second") from e


class _ScriptedLane:
    """Streams the script's words as bytes of an event stream."""

    def __init__(self, at: Endpoint, pace: float) -> None:
        self._at = at
        self._pace = pace

    async def stream(self, request: Request, answer: Answer, timer: Timer) -> AsyncGenerator[Shown, None]:
        messages = chat_messages(request, self._at, FOREIGN_SERVER)
        say = next_words(messages, {t.name for t in request.tools})
        reader = ChatReader(answer)
        for delta, share in _deltas(say):
            for part in reader.feed(_event({"choices": [{"index": 0, "delta": delta}]})):
                yield part
            await asyncio.sleep(share / self._pace if self._pace else 0)
        for event in (_event(_last(messages, say)), b"data: [DONE]\n\n"):
            for part in reader.feed(event):
                yield part
        for part in reader.end():
            yield part


def _deltas(say: Say) -> Iterator[tuple[dict[str, Any], float]]:
    """Each piece, and how long it takes as a share of a token's time."""
    for piece in _PIECE.findall(say.reasoning):
        yield {"reasoning_content": piece}, 1.0
    for piece in _PIECE.findall(say.text):
        yield {"content": piece}, 1.0
    for index, (tool, arguments) in enumerate(say.calls):
        yield {"tool_calls": [_fragment(index, f"demo_{index}", tool, "")]}, 0.0
        for piece in _PIECE.findall(msgspec.json.encode(arguments).decode()):
            yield {"tool_calls": [_fragment(index, None, None, piece)]}, 0.25  # nobody reads along with arguments


def _fragment(index: int, call_id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    return {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _last(messages: list[dict[str, Any]], say: Say) -> dict[str, Any]:
    count = Counter(PROVIDER).text
    prompt = count(msgspec.json.encode(messages).decode())
    out = count(say.reasoning + say.text) + count(msgspec.json.encode(say.calls).decode() if say.calls else "")
    usage = {"prompt_tokens": prompt, "completion_tokens": out, "total_tokens": prompt + out}
    finish = "tool_calls" if say.calls else "stop"
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage}


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(chunk) + b"\n\n"
