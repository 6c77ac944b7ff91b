"""Models over real HTTP on loopback, and what the tests ask of them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from rundry.agent.models.lanes.close_connections import close_connections
from rundry.agent.models.lanes.timer import StallTimeouts
from rundry.agent.models.open_model import open_model
from rundry.agent.models.remote_model import RemoteModel
from rundry.agent.protocol import Message, ModelSpec, Part, ReasoningPart, Request, TextPart, ToolSpec

TOOL = ToolSpec("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


class Asked:
    """One model, and all parts of its last answer, also of one that ended in a fault."""

    def __init__(self, model: RemoteModel) -> None:
        self.model = model
        self.parts: list[Part] = []

    async def ask(self, text: str = "go", **more: Any) -> list[Part]:
        self.parts = []
        fields = {"messages": [Message(role="user", text=text)], "tools": [TOOL], "max_tokens": 500, **more}
        async for part in self.model.stream(Request(**fields)):
            self.parts.append(part)
        return self.parts

    @property
    def text(self) -> str:
        return "".join(p.text for p in self.parts if isinstance(p, TextPart))

    @property
    def reasoning(self) -> str:
        return "".join(p.text for p in self.parts if isinstance(p, ReasoningPart))

    def of(self, kind: type) -> list[Any]:
        return [p for p in self.parts if isinstance(p, kind)]


@pytest.fixture
async def opened(tmp_path) -> AsyncIterator[Callable[..., Awaitable[Asked]]]:
    """Opens a model, with an own data folder for each test; its connections are closed after the test."""

    async def _open(
        api_base: str | None, name: str = "fake", *, env: dict[str, str] | None = None, **more: Any
    ) -> Asked:
        timeouts = more.pop("timeouts", StallTimeouts(first=20, between=20))
        env = {"XDG_DATA_HOME": str(tmp_path / "data"), **(env or {})}
        return Asked(await open_model(ModelSpec(name=name, api_base=api_base, **more), env, timeouts=timeouts))

    yield _open
    await close_connections()


@pytest.fixture
async def serve() -> AsyncIterator[Callable[..., Awaitable[str]]]:
    """Serves JSON at paths: a dict for an answer, an int for a status, or a handler. Gives the address."""
    runners: list[web.AppRunner] = []

    async def _serve(routes: dict[str, Any]) -> str:
        app = web.Application()
        for route, answer in routes.items():
            method, path = route.split()
            app.router.add_route(method, path, answer if callable(answer) else _answering(answer))
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        runners.append(runner)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{runner.addresses[0][1]}"

    yield _serve
    for runner in runners:
        await runner.cleanup()


def _answering(answer: dict[str, Any] | int) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(status=answer) if isinstance(answer, int) else web.json_response(answer)

    return handler


@pytest.fixture
def sse() -> Callable[..., bytes]:
    """The body of a stream: deltas, then a finish reason, usage and the end mark, where they are wanted."""

    def _sse(
        *deltas: dict[str, Any], finish: str | None = None, usage: dict[str, Any] | None = None, done: bool = True
    ) -> bytes:
        lines = [_chunk([{"index": 0, "delta": d, "finish_reason": None}]) for d in deltas]
        if finish:
            lines.append(_chunk([{"index": 0, "delta": {}, "finish_reason": finish}]))
        if usage:
            lines.append(_chunk([], usage=usage))
        body = "".join(f"data: {json.dumps(line, ensure_ascii=False)}\n\n" for line in lines)
        return (body + ("data: [DONE]\n\n" if done else "")).encode()

    return _sse


def _chunk(choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "fake", "choices": choices, **more}
