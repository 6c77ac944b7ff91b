"""A scripted model behind HTTP: OpenAI-compatible, on loopback, in a thread with a loop of its own.

    with ScriptedServer(turns=[call("read_file", path="a.py"), say("done")]) as server:
        ... --api-base {server.base_url} --model fake ...
        assert server.requests[0].body["messages"][0]["role"] == "system"

As a program: `python -m fakes.server --script FILE --port 0` prints one JSON line with the address. The file holds
{"turns": [...], "then": {...}, "rules": [{"match": REGEX, "turn": {...}}]}.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import re
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from .turns import Turn, call, from_json, say, split
from .wire import Recorded, choice, fragments, http_error, usage, whole

BATCH = 64
"""Pieces in one write where the rate is unlimited."""


@dataclass(frozen=True)
class Rule:
    """This turn answers any request whose body matches, and uses up no turn."""

    match: str
    turn: Turn


class ScriptedServer:
    def __init__(
        self,
        turns: Sequence[Turn] = (),
        *,
        then: Turn | None = None,
        rules: Sequence[Rule] = (),
        models: Sequence[str] = ("fake",),
        prompt_factor: float = 1.0,
        port: int = 0,
        log: Path | None = None,
        keeps_requests: bool = True,
    ) -> None:
        """`then` answers every request after the turns; without it the last turn is repeated.

        `keeps_requests`: False where nobody reads `requests` and the run is long.
        """
        self.turns, self.then, self.rules = list(turns), then, list(rules)
        self.models = list(models)
        self.prompt_factor = prompt_factor
        """Prompt tokens billed, relative to a fifth of the characters."""
        self.requests: list[Recorded] = []
        self.port = port
        self._log, self._keeps_requests = log, keeps_requests
        self.served = 0
        self._changed = threading.Condition()
        self._ids = itertools.count(1)
        self._ready = threading.Event()
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._serve, name="scripted-server", daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> ScriptedServer:
        self._thread.start()
        self._ready.wait()
        if self._failed:
            raise self._failed
        return self

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    def __enter__(self) -> ScriptedServer:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()

    async def __aenter__(self) -> ScriptedServer:
        return self.start()

    async def __aexit__(self, *exc: object) -> None:
        self.stop()

    def release(self) -> None:
        """Continue what is held, and hold nothing again."""
        self._loop.call_soon_threadsafe(self._released.set)

    def wait_requests(self, count: int, timeout: float = 60.0) -> list[Recorded]:
        """Return the requests once this number has arrived."""
        return self._wait(lambda: len(self.requests) >= count, timeout, f"{count} requests")

    def wait_closed(self, timeout: float = 60.0) -> list[Recorded]:
        """The requests, once a client went away early."""
        return self._wait(lambda: any(r.closed_early for r in self.requests), timeout, "a closed connection")

    def _wait(self, fact: Any, timeout: float, what: str) -> list[Recorded]:
        with self._changed:
            if not self._changed.wait_for(fact, timeout):
                raise TimeoutError(f"no {what} within {timeout} s; there were {len(self.requests)} requests")
        return self.requests

    def _note(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _serve(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._loop, self._stop, self._released = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/messages", self._chat)  # Anthropic's format, for raw answers
        app.router.add_get("/v1/models", self._list_models)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.2)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", self.port)
            await site.start()
            self.port = runner.addresses[0][1]
            self._ready.set()
            await self._stop.wait()
        except OSError as error:
            self._failed = error
            self._ready.set()
        finally:
            await runner.cleanup()

    def _next(self, body: dict[str, Any]) -> Turn:
        """Return the next turn. Before a `report` or `judge` it reads, if nothing was read since the newest prompt."""
        text = json.dumps(body, ensure_ascii=False)
        ruled = next((rule.turn for rule in self.rules if re.search(rule.match, text)), None)
        left = self.turns[self.served : self.served + 1]
        turn = ruled or (left[0] if left else self.then or (self.turns[-1] if self.turns else say("ok")))
        roles = [message.get("role") for message in reversed(body.get("messages", []))]
        is_read = "tool" in roles[: roles.index("user")] if "user" in roles else True
        if not is_read and any(one.name in ("report", "judge") for one in turn.calls):
            return call("search", pattern=".")
        self.served += ruled is None
        return turn

    async def _list_models(self, request: web.Request) -> web.Response:
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "fakes"} for name in self.models]
        return web.json_response({"object": "list", "data": data})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        record = Recorded(body, dict(request.headers), time.monotonic())
        turn = self._next(body)
        if self._keeps_requests:
            self.requests.append(record)
        self._note()
        try:
            answer = await self._answer(request, turn, record)
            record.complete = turn.drop_after is None
            return answer
        except (ConnectionError, asyncio.CancelledError):
            record.closed_early = True
            raise
        finally:
            record.last_byte = time.monotonic()
            if self._log is not None:
                row = {"arrived": record.arrived, "last_byte": record.last_byte, "usage": record.usage, "body": body}
                with self._log.open("a") as log:
                    log.write(json.dumps(row) + "\n")
            self._note()

    async def _answer(self, request: web.Request, turn: Turn, record: Recorded) -> web.StreamResponse:
        await asyncio.sleep(turn.delay)
        if turn.error:
            return http_error(turn)
        body = record.body
        turn, was_cut = turn.cut(body.get("max_completion_tokens", body.get("max_tokens")))
        record.usage = turn.usage or usage(turn, body, self.prompt_factor)
        reason = turn.finish or ("length" if was_cut else "tool_calls" if turn.calls else "stop")
        head = {"id": f"chatcmpl-{next(self._ids)}", "created": int(time.time()), "model": body.get("model", "")}
        if turn.raw is not None:
            return await self._stream_raw(request, turn)
        if not body.get("stream"):
            return web.json_response(whole(head, turn, record.usage, reason))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        async for chunks in self._chunks(turn, reason):
            lines = [{**head, "object": "chat.completion.chunk", "choices": [one]} for one in chunks]
            await response.write("".join(f"data: {json.dumps(line)}\n\n" for line in lines).encode())
        if turn.drop_after is not None and request.transport is not None:
            request.transport.abort()
            return response
        if (body.get("stream_options") or {}).get("include_usage") and not turn.no_usage:
            last = {**head, "object": "chat.completion.chunk", "choices": [], "usage": record.usage}
            await response.write(f"data: {json.dumps(last)}\n\n".encode())
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response

    async def _stream_raw(self, request: web.Request, turn: Turn) -> web.StreamResponse:
        assert turn.raw is not None
        response = web.StreamResponse(headers={"Content-Type": turn.raw_type})
        await response.prepare(request)
        await response.write(turn.raw)
        if turn.hold_after is not None:
            await self._released.wait()
        await response.write_eof()
        return response

    async def _chunks(self, turn: Turn, reason: str) -> AsyncIterator[list[dict[str, Any]]]:
        yield [choice({"role": "assistant", "content": ""})]
        async for pieces in self._paced(split(turn.reasoning), turn):
            yield [choice({"reasoning_content": piece}) for piece in pieces]
        text = turn.pieces[: turn.drop_after]
        held = len(text) if turn.hold_after is None else turn.hold_after
        async for pieces in self._paced(text[:held], turn):
            yield [choice({"content": piece}) for piece in pieces]
        if turn.hold_after is not None:
            await self._released.wait()
        async for pieces in self._paced(text[held:], turn):
            yield [choice({"content": piece}) for piece in pieces]
        if turn.drop_after is not None:
            return
        for index, wanted in enumerate(turn.calls):
            for fragment in fragments(index, wanted, next(self._ids)):
                yield [choice({"tool_calls": [fragment]})]
        yield [choice({}, reason)]

    async def _paced(self, pieces: list[str], turn: Turn) -> AsyncIterator[list[str]]:
        if turn.rate <= 0:
            for start in range(0, len(pieces), BATCH):
                yield pieces[start : start + BATCH]
                await asyncio.sleep(0)
            return
        start, sent = time.monotonic(), 0
        while sent < len(pieces):
            due = min(len(pieces), int((time.monotonic() - start) * turn.rate) + 1)
            if due > sent:
                yield pieces[sent:due]
            sent = max(sent, due)
            await asyncio.sleep(max(0.0, start + sent / turn.rate - time.monotonic()))


def main() -> None:
    parser = argparse.ArgumentParser(description="A scripted OpenAI-compatible model on loopback.")
    parser.add_argument("--script", type=Path, help="JSON file; without it every answer is `ok`")
    parser.add_argument("--log", type=Path, help="gets a JSON line a request: when it came, when it ended, body, usage")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one; the address is printed")
    options = parser.parse_args()
    script = json.loads(options.script.read_text()) if options.script else {}
    server = ScriptedServer(
        [from_json(turn) for turn in script.get("turns", [])],
        then=from_json(script["then"]) if "then" in script else None,
        rules=[Rule(rule["match"], from_json(rule["turn"])) for rule in script.get("rules", [])],
        port=options.port,
        log=options.log,
        keeps_requests=False,
    )
    with server, suppress(KeyboardInterrupt):
        print(json.dumps({"base_url": server.base_url}), flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
