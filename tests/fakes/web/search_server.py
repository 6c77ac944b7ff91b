"""Search providers on loopback, which answer in the formats that their documentation gives.

SearXNG: https://docs.searxng.org/dev/search_api.html; Brave: https://api-dashboard.search.brave.com/api-reference;
Tavily: https://docs.tavily.com/documentation/api-reference/endpoint/search.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

KEY = "sk-search-3f1c9a77d2"


@dataclass(frozen=True)
class Page:
    title: str
    url: str
    text: str


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    """Without the query."""
    query: dict[str, str]
    headers: dict[str, str]
    """Names in lower case."""
    body: Any


PAGES = (
    Page("ast — Abstract Syntax Trees", "https://docs.python.org/3/library/ast.html", "The ast module helps."),
    Page("A blog", "https://blog.example/ast", "Words about trees."),
)


@dataclass
class SearchServer:
    """`status`: that of each answer; with another one than 200 the body is the documented error."""

    provider: str
    pages: Sequence[Page] = PAGES
    status: int = 200
    location: str = ""
    """Where it redirects to, with a status of 3xx."""
    asked: list[Asked] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> SearchServer:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._reply()

            def do_POST(self) -> None:
                self._reply()

            def _reply(self) -> None:
                parts = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                asked = Asked(self.command, parts.path, query, headers, json.loads(body) if body else None)
                fake.asked.append(asked)
                status, answer = fake.answer(asked)
                content = json.dumps(answer).encode()
                self.send_response(status)
                if fake.location:
                    self.send_header("Location", fake.location)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def answer(self, asked: Asked) -> tuple[int, dict[str, Any]]:
        status = self._refused(asked)
        if status != 200:
            return status, self._error(status, asked)
        match self.provider:
            case "searxng":
                rows = [self._searxng(page) for page in self.pages]
                return 200, {
                    "query": asked.query["q"],
                    "number_of_results": 0,
                    "results": rows,
                    "answers": [],
                    "corrections": [],
                    "infoboxes": [],
                    "suggestions": ["ast python"],
                    "unresponsive_engines": [["google", "timeout"]],
                }
            case "brave":
                rows = [
                    {
                        "title": page.title,
                        "url": page.url,
                        "description": page.text,
                        "is_source_local": False,
                        "is_source_both": False,
                        "language": "en",
                        "family_friendly": True,
                        "type": "search_result",
                        "subtype": "generic",
                        "meta_url": {"scheme": "https", "hostname": urlsplit(page.url).hostname},
                    }
                    for page in self.pages
                ]
                web = {"type": "search", "results": rows, "family_friendly": True}
                return 200, {
                    "query": {"original": asked.query["q"], "more_results_available": True},
                    "mixed": {"type": "mixed", "main": [{"type": "web", "index": 0, "all": False}]},
                    "type": "search",
                    "web": web,
                }
            case _:
                rows = [
                    {"title": page.title, "url": page.url, "content": page.text, "score": 0.9, "raw_content": None}
                    for page in self.pages
                ]
                return 200, {
                    "query": asked.body["query"],
                    "follow_up_questions": None,
                    "answer": None,
                    "images": [],
                    "results": rows,
                    "response_time": 0.7,
                    "request_id": "123e4567-e89b-12d3-a456-426614174111",
                }

    def _refused(self, asked: Asked) -> int:
        """The status that the provider gives to this request."""
        if self.status != 200:
            return self.status
        place = {"searxng": ("GET", "/search"), "brave": ("GET", "/res/v1/web/search")}
        if (asked.method, asked.path) != place.get(self.provider, ("POST", "/search")):
            return 404
        if self.provider == "searxng" and asked.query.get("format") != "json":
            return 400
        if self.provider == "brave" and asked.headers.get("x-subscription-token") != KEY:
            return 422
        if self.provider == "tavily" and asked.headers.get("authorization") != f"Bearer {KEY}":
            return 401
        return 200

    def _error(self, status: int, asked: Asked) -> dict[str, Any]:
        if self.provider == "brave":
            code = "RATE_LIMITED" if status == 429 else "SUBSCRIPTION_TOKEN_INVALID"
            detail = f"The provided token {asked.headers.get('x-subscription-token')} is invalid."
            error = {"id": "ade84851", "status": status, "code": code, "detail": detail, "meta": {}}
            return {"type": "ErrorResponse", "error": error, "time": 1754364294}
        if self.provider == "tavily":
            return {"detail": {"error": "Unauthorized: missing or invalid API key."}}
        return {}

    def _searxng(self, page: Page) -> dict[str, Any]:
        parts = urlsplit(page.url)
        return {
            "url": page.url,
            "title": page.title,
            "content": page.text,
            "publishedDate": None,
            "engine": "duckduckgo",
            "template": "default.html",
            "parsed_url": [parts.scheme, parts.netloc, parts.path, "", "", ""],
            "engines": ["duckduckgo"],
            "positions": [1],
            "score": 1.0,
            "category": "general",
        }
