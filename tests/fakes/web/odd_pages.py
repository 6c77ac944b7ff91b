"""What stands on the site of `site.py`, by its address.

/page/N          of `pages`: links to its ten children, and to others with fragments and queries
/links           one link of every spelling: fragments, queries in two orders, host in capitals, off the host
/moved/N         301 to /page/N; /loop/a and /loop/b to each other, /loop/self to itself, /away off the host
/busy/N          429 with Retry-After: 1 for the first N requests; /busy-until says it as a date
/flaky/N         500 for the first N requests; /broken always
/missing /gone /forbidden    404, 410, 403
/slow/S          after S seconds
/calendar/N      links to N + 1, without an end
/file.bin        bytes; /untyped HTML without a Content-Type; /empty 204
/latin           ISO-8859-1; /odd-charset says one that does not exist
/huge/N          N MB of HTML, a link at each end; /bomb 50 MB of it in 50 kB of gzip
/cut             ends before its Content-Length; /drop hangs up without a word
/base            has a <base href>; /frames, /rels, /refresh: links that are not <a>
/many/N          N links
"""

from __future__ import annotations

import email.utils
import gzip
import time
from dataclasses import dataclass, field
from functools import cache

_REASONS = {200: "OK", 301: "Moved Permanently", 302: "Found", 404: "Not Found", 500: "Internal Server Error"}
_WORDS = "the crawler reads each page and follows every link until nothing new is left to be read here " * 8


@dataclass(frozen=True)
class Reply:
    """One answer."""

    body: bytes = b""
    status: int = 200
    kind: str | None = "text/html; charset=utf-8"
    """Content-Type."""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds before it."""
    cut: bool = False
    """The head promises more than comes."""
    drop: bool = False
    """The connection is closed instead."""

    def head(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status} {_REASONS.get(self.status, 'Told')}"]
        if self.kind is not None:
            lines.append(f"Content-Type: {self.kind}")
        lines.append(f"Content-Length: {len(self.body) + 1000 * self.cut}")
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")


def html(*links: str, head: str = "") -> bytes:
    """A page with these links."""
    body = "".join(f'<p>{_WORDS[:60]} <a href="{link}">this one</a></p>\n' for link in links)
    return f"<!doctype html><html><head><title>A page</title>{head}</head><body><h1>A page</h1>{body}</body>".encode()


def moved(to: str, status: int = 302) -> Reply:
    return Reply(status=status, headers={"Location": to})


def corner(target: str, count: int, *, pages: int, port: int) -> Reply:
    """What answers the `count`th request for this path and query."""
    path = target.partition("?")[0]
    parts = path.strip("/").split("/")
    name, rest = parts[0], parts[1:]
    if rest and name in _NUMBERED:
        return _NUMBERED[name](rest[0], count, pages)
    if name == "links":
        return Reply(html(*_spellings(port)))
    if name == "bomb":
        return Reply(_bomb(), headers={"Content-Encoding": "gzip"})
    return _FIXED.get(path, Reply(b"<h1>Not Found</h1>", status=404))


def page_links(number: int, pages: int) -> list[str]:
    """Every page has a parent that links to it, so all are reached from /page/0; ten more links are duplicates."""
    children = [f"/page/{child}" for child in range(10 * number + 1, 10 * number + 11) if child < pages]
    others = [(number * 7 + i * 13) % pages for i in range(10)]
    return [*children, *(f"/page/{other}#part-{i}" for i, other in enumerate(others))]


def _page(number: str, count: int, pages: int) -> Reply:
    if not number.isdecimal() or int(number) >= pages:
        return Reply(b"<h1>Not Found</h1>", status=404)
    return Reply(html(*page_links(int(number), pages)))


def _busy(times: str, count: int, pages: int) -> Reply:
    if count <= int(times):
        return Reply(b"later", status=429, headers={"Retry-After": "1"})
    return Reply(html("/page/0"))


def _busy_until(seconds: str, count: int, pages: int) -> Reply:
    when = email.utils.formatdate(time.time() + int(seconds), usegmt=True)
    return Reply(b"later", status=503, headers={"Retry-After": when})


def _flaky(times: str, count: int, pages: int) -> Reply:
    return Reply(b"oh no", status=500) if count <= int(times) else Reply(html("/page/0"))


_NUMBERED = {
    "page": _page,
    "moved": lambda number, count, pages: moved(f"/page/{number}", 301),
    "busy": _busy,
    "busy-until": _busy_until,
    "flaky": _flaky,
    "slow": lambda seconds, count, pages: Reply(html("/page/0"), delay=float(seconds)),
    "calendar": lambda day, count, pages: Reply(html(f"/calendar/{int(day) + 1}")),
    "huge": lambda size, count, pages: Reply(_huge(int(size))),
    "many": lambda size, count, pages: Reply(html(*(f"/of-many/{i}" for i in range(int(size))))),
    "loop": lambda which, count, pages: moved({"a": "/loop/b", "b": "/loop/a", "self": "/loop/self"}[which]),
}


def _spellings(port: int) -> list[str]:
    return [
        "/query?b=2&amp;a=1",
        "/query?a=1&amp;b=2",
        "/plain",
        "/plain#top",
        "/a/../plain",
        "#here",
        f"HTTP://127.0.0.1:{port}/plain",
        f"//127.0.0.1:{port}/plain",
        " /spaced\n",
        "relative",
        "?page=2",
        "http://127.0.0.1.evil.example/",
        f"http://127.0.0.1:{port}@evil.example/",
        f"http://user:secret@127.0.0.1:{port}/plain",
        f"http://127.0.0.1:{port + 1}/plain",
        f"https://127.0.0.1:{port}/plain",
        f"http://127.0.0.1%00:{port}/nul",
        f"http://127.0.\n0.1:{port}/newline",
        "mailto:someone@example.org",
        "javascript:void(0)",
        "http://[broken",
    ]


@cache
def _huge(size: int) -> bytes:
    filling = f"<p>{_WORDS}</p>".encode()
    return html("/first") + filling * (size * 1_000_000 // len(filling)) + b'<a href="/last">last</a>'


@cache
def _bomb() -> bytes:
    return gzip.compress(html("/first") + b" " * 50_000_000, compresslevel=9)


_FIXED = {
    "/away": moved("http://elsewhere.invalid/"),
    "/broken": Reply(b"oh no", status=500),
    "/missing": Reply(b"no", status=404),
    "/gone": Reply(b"no", status=410),
    "/forbidden": Reply(b"no", status=403),
    "/file.bin": Reply(bytes(range(256)) * 100 + b'<a href="/in-bytes">', kind="application/octet-stream"),
    "/untyped": Reply(html("/page/0"), kind=None),
    "/empty": Reply(status=204, kind=None),
    **dict.fromkeys(["/plain", "/query", "/relative", "/spaced"], Reply(b"<p>plain", kind="text/html")),
    "/latin": Reply('<a href="/caf\xe9">x'.encode("latin-1"), kind="text/html; charset=ISO-8859-1"),
    "/latin-meta": Reply('<meta charset="iso-8859-1"><a href="/caf\xe9">x'.encode("latin-1"), kind="text/html"),
    "/odd-charset": Reply(html("/page/0"), kind="text/html; charset=klingon-8"),
    "/cut": Reply(html("/page/0"), cut=True),
    "/drop": Reply(drop=True),
    "/base": Reply(html("deeper", head='<base href="/below/">')),
    "/frames": Reply(b'<frameset><frame src="/left"></frameset>'),
    "/iframe": Reply(b'<iframe src="/inside"></iframe><map><area href="/area"></map>'),
    "/rels": Reply(html(head='<link rel="next" href="/two"><link rel="stylesheet" href="/style.css">')),
    "/refresh": Reply(html(head='<meta http-equiv="Refresh" content="3; url=/next">')),
}
