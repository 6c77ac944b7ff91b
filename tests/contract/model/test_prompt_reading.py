"""A run on a server that reads prompts slowly: recorded a few times, shown without a screen."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from fakes.llama_server import LlamaServer
from fakes.rundry import Home

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import PromptRead

TOTAL = 4_000
BATCHES = 80


class SlowReader(LlamaServer):
    """A server that reports its reading in many small batches for some seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__("slow")
        self.seconds = seconds

    async def answer(self, body: dict[str, Any], response: web.StreamResponse) -> None:
        if not body.get("tools"):  # how fast does it read?
            told = {"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 101}
            done = {"index": 0, "delta": {"content": "ready"}, "finish_reason": "stop"}
            await self.send(response, {"choices": [done], "usage": told})
            return
        for batch in range(BATCHES + 1):
            progress = {"total": TOTAL, "cache": 0, "processed": TOTAL * batch // BATCHES, "time_ms": 1}
            await self.send(response, {"choices": [], "prompt_progress": progress})
            await asyncio.sleep(self.seconds / BATCHES)
        await self.send(response, {"choices": [{"index": 0, "delta": {"content": "hello"}, "finish_reason": "stop"}]})


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
