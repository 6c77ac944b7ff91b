"""Runs call tools over HTTP of a small server, which answers with JSON or as an event stream."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
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
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "id" not in request:
            self.reply(202, "application/json", b"")
            return
        text = json.dumps(answer(request)).encode()
        if self.how == "events":
            self.reply(200, "text/event-stream", b"event: message\ndata: " + text + b"\n\n")
        else:
            self.reply(200, "application/json", text)

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


@contextmanager
def web_server(how: str) -> Generator[McpServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Answers", (Handler,), {"how": how})) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield McpServer(name="web", url=f"http://127.0.0.1:{server.server_address[1]}/mcp", timeout=5.0)
        finally:
            server.shutdown()
            thread.join()


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
