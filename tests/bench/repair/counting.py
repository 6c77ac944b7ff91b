"""A proxy on loopback in front of a model server that counts the tokens, the same way for every harness."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web

ANSWERING = ("/completions", "/responses", "/messages")
"""Ends of the paths whose answers are counted."""
_NOT_FORWARDED = {"host", "connection", "keep-alive", "transfer-encoding", "content-length", "accept-encoding"}


@dataclass
class Counted:
    """Tokens of all answers so far."""

    requests: int = 0
    read: int = 0
    """Tokens of the prompts, those from the server's cache included."""
    cached: int = 0
    written: int = 0
    uncounted: int = 0
    """Answers for which the server did not say how long the prompt was, because a harness cut them or it never does."""


class CountingProxy:
    """Forward all requests to a server. `base` of the proxy takes the place of the server's."""

    def __init__(self, base: str) -> None:
        self._server = urlsplit(base)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="counting-proxy", daemon=True)
        self.counted = Counted()
        self.base = ""

    def __enter__(self) -> CountingProxy:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *exc: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        waits = aiohttp.ClientTimeout(total=None, connect=30)
        async with aiohttp.ClientSession(timeout=waits, connector=aiohttp.TCPConnector(limit=0)) as self._session:
            app = web.Application(client_max_size=1 << 28)
            app.router.add_route("*", "/{path:.*}", self._forward)
            runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self.base = f"http://127.0.0.1:{runner.addresses[0][1]}{self._server.path}"
            self._ready.set()
            await self._stop.wait()
            await runner.cleanup()

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        """Forward one request. If the harness goes away, the connection to the server is closed, too."""
        url = f"{self._server.scheme}://{self._server.netloc}{request.path_qs}"
        sent = {name: value for name, value in request.headers.items() if name.lower() not in _NOT_FORWARDED}
        counts = request.method == "POST" and request.path.endswith(ANSWERING)
        counter = _AnswerCounter()
        try:
            async with self._session.request(
                request.method, url, headers=sent, data=await request.read(), allow_redirects=False
            ) as answer:
                kept = {name: value for name, value in answer.headers.items() if name.lower() not in _NOT_FORWARDED}
                response = web.StreamResponse(status=answer.status, headers=kept)
                counts = counts and answer.status < 400
                await response.prepare(request)
                async for piece in answer.content.iter_any():
                    if counts:
                        counter.feed(piece)
                    await response.write(piece)
                await response.write_eof()
                return response
        except aiohttp.ClientConnectorError as e:
            raise web.HTTPBadGateway(text=str(e)) from e
        finally:
            if counts:
                counter.add_to(self.counted)


class _AnswerCounter:
    """Read the counts of one answer, streamed or whole."""

    def __init__(self) -> None:
        self._rest = b""
        self._usage: dict[str, Any] = {}
        self._timings: dict[str, Any] = {}
        self._progress: dict[str, Any] = {}
        self._pieces = 0

    def feed(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._read(line)

    def _read(self, line: bytes) -> None:
        with suppress(ValueError):
            chunk = json.loads(line.removeprefix(b"data:"))
            if isinstance(chunk, dict):
                self._usage = chunk.get("usage") or (chunk.get("response") or {}).get("usage") or self._usage
                self._timings = chunk.get("timings") or self._timings
                self._progress = chunk.get("prompt_progress") or self._progress
                self._pieces += any(_holds_text(choice.get("delta") or {}) for choice in chunk.get("choices") or [])

    def add_to(self, counted: Counted) -> None:
        """Add the counts: those of `usage`, else llama.cpp's `timings`, else what its progress and the pieces say."""
        self._read(self._rest)
        usage, timings = self._usage, self._timings
        counted.requests += 1
        if usage:
            details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details") or {}
            counted.read += usage.get("prompt_tokens", usage.get("input_tokens", 0))
            counted.written += usage.get("completion_tokens", usage.get("output_tokens", 0))
            counted.cached += details.get("cached_tokens") or 0
        elif timings:
            counted.read += timings.get("prompt_n", 0) + timings.get("cache_n", 0)
            counted.cached += timings.get("cache_n", 0)
            counted.written += timings.get("predicted_n", 0)
        else:
            counted.read += self._progress.get("total", 0)
            counted.cached += self._progress.get("cache", 0)
            counted.written += self._pieces
            counted.uncounted += not self._progress


def _holds_text(delta: dict[str, Any]) -> bool:
    return any(delta.get(field) for field in ("content", "reasoning_content", "tool_calls"))
