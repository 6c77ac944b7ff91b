"""The scripted model as a provider of litellm: it streams through the same path as a real one."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from importlib import import_module
from typing import Any

import msgspec

from ...protocol import FREE, ModelSpec, UserError
from ..adapter import LiteModel, Patience
from ..counting import Counter
from ..endpoint import NO_KEY, Endpoint
from ..library import Foreign, litellm
from ..prices import NO_CHARGE
from .script import Say, next_words

PROVIDER = "demo"
PACE = 60.0
"""Tokens a second: as fast as people read along."""
_WINDOW = 131_072
_PIECE = re.compile(r"\s*\S{1,6}|\s+")


def open_demo(spec: ModelSpec, model: str, env: Mapping[str, str]) -> LiteModel:
    """The scripted model. `RUNDRY_DEMO_PACE` sets its tokens a second; 0 is as fast as it goes."""
    _register(_pace(env))
    at = Endpoint(provider=PROVIDER, model=model, api_base=None, key=NO_KEY, key_names=(), local=True)
    return LiteModel(
        at,
        name=spec.name,
        window=spec.context or _WINDOW,
        window_known=True,
        max_output=min(8192, spec.context or _WINDOW),
        price=FREE,
        tariff=NO_CHARGE,
        patience=Patience(first=60.0),
        redact=str,
        read_leaks=False,
        extra={},
    )


def _pace(env: Mapping[str, str]) -> float:
    try:
        return max(float(env.get("RUNDRY_DEMO_PACE") or PACE), 0.0)
    except ValueError as e:
        raise UserError("RUNDRY_DEMO_PACE is no number of tokens a second") from e


def _register(pace: float) -> None:
    lib = litellm()

    async def astreaming(self: object, **call: Foreign) -> AsyncIterator[Foreign]:
        async for chunk in _stream(call, pace):
            yield chunk

    handler = type("ScriptedModel", (lib.CustomLLM,), {"astreaming": astreaming})()
    others = [p for p in lib.custom_provider_map if p["provider"] != PROVIDER]
    lib.custom_provider_map = [*others, {"provider": PROVIDER, "custom_handler": handler}]


async def _stream(call: dict[str, Any], pace: float) -> AsyncIterator[Foreign]:
    parameters = call["optional_params"]
    tools = {t["function"]["name"] for t in parameters.get("tools") or ()}
    say = next_words(call["messages"], tools)
    chunk = _chunk_maker()
    for piece in _PIECE.findall(say.reasoning):
        yield chunk(reasoning_content=piece)
        await _breathe(pace)
    for piece in _PIECE.findall(say.text):
        yield chunk(content=piece)
        await _breathe(pace)
    for index, (tool, arguments) in enumerate(say.calls):
        yield chunk(tool_calls=[_fragment(index, f"demo_{index}", tool, "")])
        for piece in _PIECE.findall(msgspec.json.encode(arguments).decode()):
            yield chunk(tool_calls=[_fragment(index, None, None, piece)])
            await _breathe(pace * 4)  # nobody reads along with arguments
    yield _last(call["messages"], say)


async def _breathe(pace: float) -> None:
    await asyncio.sleep(1 / pace if pace else 0)


def _chunk_maker() -> Callable[..., Foreign]:
    types: Foreign = import_module("litellm.types.utils")

    def chunk(**delta: Foreign) -> Foreign:
        choice = types.StreamingChoices(index=0, delta=types.Delta(**delta), finish_reason=None)
        return types.ModelResponseStream(choices=[choice])

    return chunk


def _fragment(index: int, call_id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    return {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _last(messages: list[dict[str, Any]], say: Say) -> dict[str, Any]:
    """The one chunk that carries finish and usage; without it litellm estimates the usage silently."""
    count = Counter(PROVIDER).text
    prompt = count(msgspec.json.encode(messages).decode())
    out = count(say.reasoning + say.text) + count(msgspec.json.encode(say.calls).decode() if say.calls else "")
    usage = {"prompt_tokens": prompt, "completion_tokens": out, "total_tokens": prompt + out}
    finish = "tool_calls" if say.calls else "stop"
    return {"text": "", "is_finished": True, "finish_reason": finish, "usage": usage, "index": 0, "tool_use": None}
