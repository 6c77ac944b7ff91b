"""A server that reads prompts slowly gets a short one, after a tiny call that measured it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from fakes.llama_server import LlamaServer
from fakes.rundry import Home

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import CallAdmitted, Charged, StepStarted


class Reader(LlamaServer):
    """A server with a large model. `speed`: tokens per second that it reads.

    A time is only waited for in the tiny call, so that the test is short.
    """

    def __init__(self, speed: float) -> None:
        super().__init__("large", n_params=32_000_000_000)
        self.speed = speed
        self.asked: list[dict[str, Any]] = []

    async def answer(self, body: dict[str, Any], response: web.StreamResponse) -> None:
        self.asked.append(body)
        tokens = len(json.dumps(body["messages"])) // 4
        if not body.get("tools"):
            await asyncio.sleep(tokens / self.speed)
        known = {"cached_tokens": tokens if body.get("tools") else 0}
        told = {"prompt_tokens": tokens, "completion_tokens": 2, "prompt_tokens_details": known}
        done = {"index": 0, "delta": {"content": "hello"}, "finish_reason": "stop"}
        for chunk in ({"choices": [done]}, {"choices": [], "usage": told}):
            await self.send(response, chunk)

    @property
    def steps(self) -> list[dict[str, Any]]:
        return [body for body in self.asked if body.get("tools")]

    @property
    def measured(self) -> int:
        return len(self.asked) - len(self.steps)


@pytest.fixture
def serve() -> Iterator[Any]:
    running: list[Reader] = []

    def start(speed: float) -> Reader:
        running.append(Reader(speed).__enter__())
        return running[-1]

    yield start
    for one in running:
        one.__exit__()


def run(home: Home, project: Path, reader: Reader) -> Any:
    base = f"http://127.0.0.1:{reader.port}/v1"
    return home.run("run", "hi", "--headless", "--steps", "1", "--model", "large", "--api-base", base, cwd=project)


def described(body: dict[str, Any]) -> int:
    return sum(len(json.dumps(tool)) for tool in body["tools"])


def test_a_slow_server_is_measured_once_and_gets_brief_tools(home: Home, project: Path, serve: Any):
    fast, slow = serve(10_000.0), serve(50.0)
    usual, ran = run(home, project, fast), run(home, project, slow)
    assert usual.stdout.startswith("hello") and ran.stdout.startswith("hello"), (usual, ran)
    assert fast.measured == 1 and "would read" not in usual.stderr, usual
    assert slow.measured == 2, "the first call could include the time in which the model is loaded"
    assert "tools are described in one sentence each (this server would read everything in" in ran.stderr, ran
    names = [[tool["function"]["name"] for tool in server.steps[0]["tools"]] for server in (fast, slow)]
    assert "run_command" in names[1] and described(slow.steps[0]) < 0.7 * described(fast.steps[0])
    again = run(home, project, slow)
    assert slow.measured == 2 and "would read everything in" in again.stderr, "it is remembered"


def test_the_tiny_calls_are_charged_and_do_not_count_as_steps(home: Home, project: Path, serve: Any):
    ran = run(home, project, serve(60.0))
    with closing(Journal.open(home.journals()[0])) as journal:
        events = list(journal.read())
    tiny = [one.event for one in events if one.work == "reading speed"]
    assert [type(event) for event in tiny] == [CallAdmitted, Charged] * 2, ran
    assert all(isinstance(event, CallAdmitted) or not event.estimated for event in tiny)
    assert sum(isinstance(one.event, StepStarted) for one in events) == 1
