"""An MCP server over HTTP that wants a login, with its authorization server (RFC 6749, 7591, 7636, 8414, 8707, 9728).

It refuses wrong verifiers, codes that were used, unknown clients, other redirect addresses and other resources.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from .test_http_servers import answer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LoginServer

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        base = self.server.base
        match parts.path:
            case "/.well-known/oauth-protected-resource/mcp":
                self.reply(200, {"resource": f"{base}/mcp", "authorization_servers": [self.server.issuer]})
            case "/.well-known/oauth-authorization-server":
                names = {"authorization": "authorize", "token": "token", "registration": "register"}
                ends = {f"{name}_endpoint": f"{self.server.issuer}/{path}" for name, path in names.items()}
                methods = {"code_challenge_methods_supported": ["S256"], "response_types_supported": ["code"]}
                self.reply(200, {"issuer": self.server.issuer, **ends, **methods})
            case "/authorize":
                self.authorize({name: values[0] for name, values in parse_qs(parts.query).items()})
            case _:
                self.reply(404, {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        match self.path:
            case "/mcp":
                self.call(json.loads(body))
            case "/register":
                about = json.loads(body)
                client = f"client-{len(self.server.clients)}"
                self.server.clients[client] = about["redirect_uris"]
                self.reply(201, {**about, "client_id": client})
            case "/token":
                self.token({name: values[0] for name, values in parse_qs(body.decode()).items()})
            case _:
                self.reply(404, {})

    def do_DELETE(self) -> None:
        self.reply(200, {})

    def authorize(self, asked: dict[str, str]) -> None:
        known = self.server.clients.get(asked.get("client_id", ""), [])
        if asked.get("redirect_uri") not in known or asked.get("code_challenge_method") != "S256":
            self.reply(400, {"error": "invalid_request"})
            return
        code = secrets.token_hex()
        self.server.codes[code] = asked
        back = {"code": code} if not self.server.denies else {"error": "access_denied"}
        place = f"{asked['redirect_uri']}?{urlencode({**back, 'state': asked['state']})}"
        self.send_response(302)
        self.send_header("location", place)
        self.send_header("content-length", "0")
        self.end_headers()

    def token(self, asked: dict[str, str]) -> None:
        self.server.grants.append(asked["grant_type"])
        if asked["grant_type"] == "refresh_token":
            if asked["refresh_token"] not in self.server.refreshing:
                self.reply(400, {"error": "invalid_grant"})
                return
            self.server.refreshing.remove(asked["refresh_token"])
        else:
            was = self.server.codes.pop(asked.get("code", ""), None)
            digest = hashlib.sha256(asked.get("code_verifier", "").encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            same = ("client_id", "redirect_uri", "resource")
            if was is None or was["code_challenge"] != challenge or any(was.get(k) != asked.get(k) for k in same):
                self.reply(400, {"error": "invalid_grant"})
                return
        access, refresh = f"access-{secrets.token_hex()}", f"refresh-{secrets.token_hex()}"
        self.server.valid.add(access)
        self.server.refreshing.add(refresh)
        tokens = {"access_token": access, "token_type": "Bearer", "refresh_token": refresh}
        self.reply(200, {**tokens, "expires_in": 3600})

    def call(self, request: dict[str, Any]) -> None:
        token = self.headers.get("authorization", "").removeprefix("Bearer ")
        if self.server.status:
            self.reply(self.server.status, {})
        elif token not in self.server.valid:
            place = f"{self.server.base}/.well-known/oauth-protected-resource/mcp"
            self.reply(401, {}, {"www-authenticate": f'Bearer resource_metadata="{place}"'})
        elif "id" not in request:
            self.reply(202, {})
        else:
            self.reply(200, answer(request))

    def reply(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        text = json.dumps(value).encode()
        self.send_response(status)
        for name, one in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, one)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:
        pass


class LoginServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server_address[1]}"
        self.issuer = self.base
        self.clients: dict[str, list[str]] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.valid: set[str] = set()
        self.refreshing: set[str] = set()
        self.grants: list[str] = []
        self.denies, self.status = False, 0


@contextmanager
def login_server() -> Generator[LoginServer]:
    with LoginServer() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
