"""What a provider can read from its cache over a whole run, up to the last call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from aiohttp import web
from fakes.llama_server import ThreadedServer
from fakes.providers.anthropic_cache import AnthropicCache
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Call, calls, say

STEPS, PARALLEL = 5, 12


class Claude(ThreadedServer):
    """Answers each request that does not end the run with parallel calls, in Anthropic's format."""

    def __init__(self) -> None:
        super().__init__()
        self.bodies: list[dict[str, Any]] = []

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/v1/messages", self._answer)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.json())
        number = len(self.bodies)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in _events(number):
            await response.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        return response


def _events(number: int) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": f"Answer {number}."}]
    if number <= STEPS:
        blocks += [
            {"type": "tool_use", "id": f"t{number}_{i}", "name": "read_file", "input": {"path": f"f{number}_{i}.txt"}}
            for i in range(PARALLEL)
        ]
    found: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 9, "cache_creation_input_tokens": 5}}}
    ]
    for index, block in enumerate(blocks):
        found.append({"type": "content_block_start", "index": index, "content_block": block})
        found.append({"type": "content_block_stop", "index": index})
    reason = "tool_use" if number <= STEPS else "end_turn"
    found.append({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}})
    return [*found, {"type": "message_stop"}]


def test_with_twelve_parallel_calls_a_step_claude_reads_from_the_cache_what_was_sent_before(home: Home, project: Path):
    for step in range(1, STEPS + 1):
        for i in range(PARALLEL):
            (project / f"f{step}_{i}.txt").write_text(f"line {step} {i}\n" * 40)
    with Claude() as claude:
        argv = ["run", "read all files", "--headless", "--json", "--steps", str(STEPS), "--until", "false"]
        model = ["--model", "anthropic/claude-sonnet-4-5", "--api-base", f"http://127.0.0.1:{claude.port}"]
        ran = home.run(*argv, *model, cwd=project, env={"ANTHROPIC_API_KEY": "sk-ant-api03-test-test-test"})
    assert ran.events[-1]["reason"] == "budget", ran
    assert ran.events[-1]["answer"] == f"Answer {STEPS + 1}."
    assert len(claude.bodies) == STEPS + 1
    assert ran.events[-1]["tokens"]["written"] == 5 * (STEPS + 1)
    cache = AnthropicCache()
    shares = [cache.request(body) for body in claude.bodies]
    assert min(shares) > 0.97, (cache.read / cache.readable, shares)
    assert claude.bodies[-1]["tools"] == claude.bodies[-2]["tools"]


def test_a_last_call_continues_the_prompt_of_the_newest_step_and_forbids_calls(home: Home, project: Path):
    reads = [calls(Call("read_file", {"path": p})) for p in ("calc/core.py", "NOTES.md")]
    with ScriptedServer([*reads, say("I read two files.")]) as server:
        argv = ["run", "fix", "--headless", "--json", "--steps", "2", "--until", "false"]
        ran = home.run(*argv, "--model", "fake", "--api-base", server.base_url, cwd=project)
    step, last = server.requests[1].body, server.requests[2].body
    assert ran.events[-1]["answer"] == "I read two files."
    assert last["tools"] == step["tools"] and "tool_choice" not in step
    assert last["tool_choice"] == "none"
    assert last["messages"][: len(step["messages"])] == step["messages"]
