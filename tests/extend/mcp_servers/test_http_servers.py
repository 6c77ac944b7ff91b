"""Runs call tools over HTTP of a small server, which answers with JSON or as an event stream."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from fakes.turns import call, finish

from rundry.agent.protocol import GateMode, McpServer, Rule

from .conftest import Run, results

TURNS = [call("web__echo", text="hello"), call("read_file", path="calc/core.py"), finish("done", "calc/core.py")]
ALLOWED: dict[str, Any] = {"gate": GateMode.AUTO, "rules": [Rule(verdict="allow", tool="web__*")]}
ECHO = {"name": "echo", "description": "Echo.", "inputSchema": {"type": "object"}}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    params = request.get("params", {})
    match request["method"]:
        case "initialize":
            version = params["protocolVersion"]
            info = {"name": "web", "version": "1"}
            result: dict[str, Any] = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            result = {"tools": [ECHO, {"name": "broken"}]}
        case _:
            result = {"content": [{"type": "text", "text": f"heard {params['arguments']['text']}"}]}
    return {"jsonrpc": "2.0", "id": request["id"], "result": result}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    how = "json"

    def do_GET(self) -> None:
        self.reply(405, "text/plain", b"")

    do_DELETE = do_GET

    def do_POST(self) -> None:
        self.server.heard.append(self.headers.get("authorization"))  # type: ignore[attr-defined]
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.misbehaves(str(request["method"])):
            return
        if "id" not in request:
            self.reply(202, "application/json", b"")
            return
        text = json.dumps(answer(request)).encode()
        if self.how == "events":
            self.reply(200, "text/event-stream", b"event: message\ndata: " + text + b"\n\n")
        else:
            self.reply(200, "application/json", text)

    def misbehaves(self, method: str) -> bool:
        match self.how, method:
            case ("hangs at the start", "initialize") | ("hangs in a call", "tools/call"):
                self.server.over.wait(60)  # type: ignore[attr-defined]
            case "floods", "tools/call":
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                piece = b": " + b"x" * 65_000 + b"\n\n"
                with suppress(OSError):
                    while not self.server.over.is_set():  # type: ignore[attr-defined]
                        self.wfile.write(piece)
            case "redirects", "tools/call":
                self.send_response(307)
                self.send_header("location", self.server.elsewhere)  # type: ignore[attr-defined]
                self.send_header("content-length", "0")
                self.end_headers()
            case _:
                return False
        self.close_connection = True
        return True

    def reply(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        if self.how == "compressed" and body:
            body = gzip.compress(body)
            self.send_header("content-encoding", "gzip")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Web(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, how: str, elsewhere: str = "") -> None:
        super().__init__(("127.0.0.1", 0), type("Answers", (Handler,), {"how": how}))
        self.elsewhere = elsewhere
        self.heard: list[str | None] = []
        """The header `Authorization` of each request."""
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/mcp"


@contextmanager
def serving(how: str, elsewhere: str = "") -> Generator[Web]:
    with Web(how, elsewhere) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            server.shutdown()
            thread.join()


@contextmanager
def web_server(how: str) -> Generator[McpServer]:
    with serving(how) as server:
        yield McpServer(name="web", url=server.url, timeout=2.0)


@pytest.mark.parametrize("how", ["json", "events"])
async def test_a_tool_of_a_server_over_http_is_called(drive: Run, how: str):
    with web_server(how) as server:
        run = drive([server], TURNS, **ALLOWED)
        outcome = await run.run()
    assert outcome.reason.value == "answered", run.story()
    assert "heard hello" in results(run)[0]["result"]
    ready = next(e for e in run.events if e["type"] == "mcp_server_changed")
    assert (ready["state"], ready["tools"], len(ready["refused"])) == ("ready", ["web__echo"], 1)
    assert ready["tokens"] > 0


async def test_a_compressed_answer_is_refused_and_the_run_continues(drive: Run):
    with web_server("compressed") as server:
        run = drive([server], TURNS, **ALLOWED)
        outcome = await run.run()
    assert outcome.reason.value == "answered", run.story()
    notes = next(e for e in run.events if e["type"] == "run_started")["notes"]
    assert any("it sent a compressed answer" in note for note in notes), notes


async def test_a_header_gets_the_value_of_its_variable_and_no_journal_has_it(drive: Run):
    with serving("json") as web:
        given = McpServer(name="web", url=web.url, headers={"Authorization": "Bearer ${MY_TOKEN}"}, timeout=5.0)
        run = drive([given], TURNS, **ALLOWED)
        outcome = await run.run()
        heard = set(web.heard)
    assert outcome.reason.value == "answered", run.story()
    assert heard == {"Bearer s3cret-of-the-user"}
    assert "s3cret-of-the-user" not in json.dumps(run.events)


@pytest.mark.parametrize(
    ("header", "said"),
    [("${NOT_SET}", "NOT_SET in its headers is not set"), ("${OPENAI_API_KEY}", "may not be sent to a server")],
)
async def test_a_header_with_a_variable_that_is_missing_or_a_key_connects_to_nothing(
    drive: Run, header: str, said: str
):
    with serving("json") as web:
        given = McpServer(name="web", url=web.url, headers={"Authorization": header}, timeout=5.0)
        run = drive([given], TURNS[1:])
        outcome = await run.run()
        assert web.heard == []
    assert outcome.reason.value == "answered", run.story()
    notes = next(e for e in run.events if e["type"] == "run_started")["notes"]
    assert any(said in note for note in notes), notes


@pytest.mark.parametrize(
    "how", [pytest.param("hangs at the start", marks=pytest.mark.long), "hangs in a call", "floods"]
)
async def test_a_server_over_http_that_hangs_or_floods_is_ended_and_the_run_continues(drive: Run, how: str):
    with web_server(how) as server:
        run = drive([server], TURNS, **ALLOWED)
        outcome = await run.run()
    assert outcome.reason.value == "answered", run.story()
    states = [e["state"] for e in run.events if e["type"] == "mcp_server_changed"]
    assert "failed" in states or any("web" in note for note in run.of("run_started")[0]["notes"]), run.events
    first = results(run)[0]
    assert not first["ok"], first


async def test_a_redirect_is_not_followed_so_no_header_reaches_another_host(drive: Run):
    with serving("json") as other, serving("redirects", other.url) as web:
        given = McpServer(name="web", url=web.url, headers={"Authorization": "Bearer ${MY_TOKEN}"}, timeout=2.0)
        run = drive([given], TURNS, **ALLOWED)
        outcome = await run.run()
        assert other.heard == [] and len(web.heard) > 1
    assert outcome.reason.value == "answered", run.story()
