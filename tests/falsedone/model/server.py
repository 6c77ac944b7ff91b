"""A model server on loopback that plays one script, in the wire format of whoever asks. Standard library only."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from .answer import Answer
from .wires import WIRES, as_stream, offered

Render = Callable[[int, Sequence[str]], Answer]
"""The answer with this number, for a request that offers these tools."""


class ScriptServer:
    """Answer the n-th request with `render(n, tools)`.

    `needs_tools`: a request that offers no tools (for a title, a summary) gets "ok" and does not count.
    """

    def __init__(self, render: Render, *, needs_tools: bool) -> None:
        self._render, self._needs_tools = render, needs_tools
        self.bodies: list[dict[str, Any]] = []
        self.served = 0
        self.failures: list[str] = []
        """Why an answer could not be made: faults of an adapter."""
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"script": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)

    @property
    def address(self) -> str:
        """Without a path."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> ScriptServer:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self, body: dict[str, Any]) -> Answer:
        with self._lock:
            self.bodies.append(body)
            tools = offered(body)
            if self._needs_tools and not tools:
                return Answer("ok")
            try:
                found = self._render(self.served, tools)
            except LookupError as error:
                self.failures.append(f"{error}")
                return Answer("I cannot do this here.")
            self.served += 1
            return found


class _Handler(BaseHTTPRequestHandler):
    script: ScriptServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        path = urlsplit(self.path).path
        wire = next((wire for end, wire in WIRES.items() if path.endswith(end)), None)
        if path.endswith("/count_tokens"):
            self._send({"input_tokens": 100})
        elif wire is None:
            self._send({"error": {"message": f"unknown path {path}"}}, 404)
        elif body.get("stream"):
            self._send(as_stream(wire[0](body, self.script.answer(body))))
        else:
            self._send(wire[1](body, self.script.answer(body)))

    def do_GET(self) -> None:
        models = [{"id": name, "object": "model", "created": 0, "owned_by": "script"} for name in ("fake",)]
        is_list = urlsplit(self.path).path.endswith("/models")
        self._send({"object": "list", "data": models} if is_list else {}, 200 if is_list else 404)

    def do_HEAD(self) -> None:
        self._send({})

    def _send(self, data: Mapping[str, Any] | bytes, status: int = 200) -> None:
        content = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/event-stream" if isinstance(data, bytes) else "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""
