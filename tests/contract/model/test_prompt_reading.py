"""A run on a server that reads prompts slowly: recorded a few times, shown without a screen."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from aiohttp import web
from fakes.rundry import Home

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import PromptRead

TOTAL = 4_000
BATCHES = 80


class SlowReader(threading.Thread):
    """A server like llama.cpp's that reports its reading in many small batches for some seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(daemon=True)
        self.seconds, self.port = seconds, 0
        self._ready = threading.Event()

    def run(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application()
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/chat/completions", self._chat)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.port = runner.addresses[0][1]
        self._ready.set()
        await self._ended.wait()
        await runner.cleanup()

    async def _models(self, request: web.Request) -> web.Response:
        row = {"id": "slow", "object": "model", "owned_by": "llamacpp", "meta": {"n_ctx": 32_768}}
        return web.json_response({"object": "list", "data": [row]})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        asked = await request.json()
        if not asked.get("tools"):  # how fast does it read?
            told = {"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 101}
            done = {"index": 0, "delta": {"content": "ready"}, "finish_reason": "stop"}
            await self._send(response, {"choices": [done], "usage": told})
            await response.write(b"data: [DONE]\n\n")
            return response
        for batch in range(BATCHES + 1):
            told = {"total": TOTAL, "cache": 0, "processed": TOTAL * batch // BATCHES, "time_ms": 1}
            await self._send(response, {"choices": [], "prompt_progress": told})
            await asyncio.sleep(self.seconds / BATCHES)
        await self._send(response, {"choices": [{"index": 0, "delta": {"content": "hello"}, "finish_reason": "stop"}]})
        await response.write(b"data: [DONE]\n\n")
        return response

    @staticmethod
    async def _send(response: web.StreamResponse, chunk: dict[str, object]) -> None:
        await response.write(f"data: {json.dumps(chunk)}\n\n".encode())

    def __enter__(self) -> SlowReader:
        self.start()
        self._ready.wait()
        return self

    def __exit__(self, *exc: object) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self.join()


@pytest.fixture
def reader() -> Iterator[SlowReader]:
    with SlowReader(6.5) as server:
        yield server


def test_the_reading_of_a_prompt_is_recorded_and_printed_a_few_times(home: Home, project: Path, reader: SlowReader):
    base = f"http://127.0.0.1:{reader.port}/v1"
    ran = home.run("run", "hi", "--headless", "--steps", "1", "--model", "slow", "--api-base", base, cwd=project)
    assert ran.stdout.startswith("hello"), ran
    of_step, *of_wrap_up = [line for line in ran.stderr.splitlines() if "reading the prompt" in line]
    assert len(of_wrap_up) <= 1, ran
    assert re.search(r"still reading the prompt: [23],\d\d\d of 4,000 tokens  0:05$", of_step), ran
    with closing(Journal.open(home.journals()[0])) as journal:
        read = [one.event.read for one in journal.read() if isinstance(one.event, PromptRead) and one.step == 1]
    assert 5 <= len(read) <= 15 and read == sorted(read), read
