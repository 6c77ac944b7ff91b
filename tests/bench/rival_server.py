"""A model server that says one word, in the three formats that the rivals speak: `python -m bench.rival_server`.

It prints its port. Formats: chat completions, OpenAI's Responses and Anthropic's messages, always as streams.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from aiohttp import web

WORD = "ALPHAWORD"
_TEXT = f"{WORD} beta"


def _data(fields: dict[str, Any]) -> str:
    return f"data: {json.dumps(fields)}\n\n"


def _event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\n{_data({'type': kind, **fields})}"


def _chat(model: str) -> str:
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": model}
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
    parts: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": _TEXT}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": usage},
    ]
    return "".join(_data({**head, **part}) for part in parts) + "data: [DONE]\n\n"


def _responses(model: str) -> str:
    usage = {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}
    part = {"type": "output_text", "text": _TEXT, "annotations": []}
    item = {"id": "m1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    at = {"item_id": "m1", "output_index": 0, "content_index": 0}
    base = {"id": "r1", "object": "response", "created_at": 1, "model": model}
    return "".join(
        [
            _event("response.created", response={**base, "status": "in_progress", "output": []}),
            _event("response.output_item.added", output_index=0, item={**item, "content": [], "status": "in_progress"}),
            _event("response.content_part.added", **at, part={**part, "text": ""}),
            _event("response.output_text.delta", **at, delta=_TEXT),
            _event("response.output_text.done", **at, text=_TEXT),
            _event("response.output_item.done", output_index=0, item=item),
            _event("response.completed", response={**base, "status": "completed", "output": [item], "usage": usage}),
        ]
    )


def _messages(model: str) -> str:
    message = {"id": "m1", "type": "message", "role": "assistant", "model": model, "content": [], "stop_reason": None}
    return "".join(
        [
            _event("message_start", message={**message, "usage": {"input_tokens": 9, "output_tokens": 0}}),
            _event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
            _event("content_block_delta", index=0, delta={"type": "text_delta", "text": _TEXT}),
            _event("content_block_stop", index=0),
            _event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 2}),
            _event("message_stop"),
        ]
    )


async def _answer(request: web.Request) -> web.Response:
    body = await request.json()
    kinds = {"completions": _chat, "responses": _responses, "messages": _messages}
    text = kinds[request.path.rsplit("/", 1)[-1]](str(body.get("model", "")))
    return web.Response(text=text, content_type="text/event-stream")


async def _models(request: web.Request) -> web.Response:
    return web.json_response({"object": "list", "data": [{"id": "fake", "object": "model"}]})


async def main() -> None:
    """Serve until the process is ended."""
    app = web.Application(client_max_size=64 << 20)
    for path in ("/v1/chat/completions", "/v1/responses", "/v1/messages"):
        app.router.add_post(path, _answer)
    app.router.add_get("/v1/models", _models)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
