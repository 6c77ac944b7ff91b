"""A scripted Ollama."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

SHOWN = {"parameters": 'stop "<end>"', "model_info": {"general.architecture": "q", "q.context_length": 8192}}


USAGE = {"prompt_eval_count": 55, "eval_count": 7}


class Ollama:
    """Answers with these lines, and keeps what it was asked."""

    def __init__(self, *lines: dict[str, Any], shown: dict[str, Any] | int = SHOWN) -> None:
        self.lines = [{"model": "q", "created_at": "2025-01-01T00:00:00Z", **line} for line in lines]
        self.body: dict[str, Any] = {}
        self.shows = 0
        self._shown = shown

    @property
    def routes(self) -> dict[str, Any]:
        tags = {"models": [{"name": "q:latest"}, {"name": "big:70b"}]}
        return {"POST /api/chat": self.chat, "POST /api/show": self.show, "GET /api/tags": tags}

    async def show(self, request: web.Request) -> web.Response:
        self.shows += 1
        return web.Response(status=self._shown) if isinstance(self._shown, int) else web.json_response(self._shown)

    async def chat(self, request: web.Request) -> web.StreamResponse:
        self.body = await request.json()
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        for line in self.lines:
            await response.write((json.dumps(line) + "\n").encode())
        await response.write_eof()
        return response


DONE = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop", **USAGE}
