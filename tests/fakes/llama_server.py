"""Servers in a thread, whose answers a test writes itself; one of them is like that of llama.cpp."""

from __future__ import annotations

import asyncio
import json
import threading
from abc import ABC, abstractmethod
from typing import Any, Self

from aiohttp import web


class ThreadedServer(threading.Thread, ABC):
    """Answers requests on a free port, while it is used as a context manager."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.port = 0
        self._ready = threading.Event()

    @abstractmethod
    def add_routes(self, app: web.Application) -> None:
        """Add what the server answers."""

    def run(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=64 << 20)
        self.add_routes(app)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.port = runner.addresses[0][1]
        self._ready.set()
        await self._ended.wait()
        await runner.cleanup()

    def __enter__(self) -> Self:
        self.start()
        self._ready.wait()
        return self

    def __exit__(self, *exc: object) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self.join()


class LlamaServer(ThreadedServer):
    """Answers `/v1/models` and `/v1/chat/completions`."""

    def __init__(self, model: str, **meta: object) -> None:
        """`meta`: what the server says about its model besides a window of 32,768 tokens."""
        super().__init__()
        self._row = {"id": model, "object": "model", "owned_by": "llamacpp", "meta": {"n_ctx": 32_768, **meta}}

    @abstractmethod
    async def answer(self, body: dict[str, Any], response: web.StreamResponse) -> None:
        """Send the chunks of the answer to a request."""

    @staticmethod
    async def send(response: web.StreamResponse, chunk: dict[str, object]) -> None:
        """Send one chunk."""
        await response.write(f"data: {json.dumps(chunk)}\n\n".encode())

    def add_routes(self, app: web.Application) -> None:
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/chat/completions", self._chat)

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [self._row]})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await self.answer(await request.json(), response)
        await response.write(b"data: [DONE]\n\n")
        return response
