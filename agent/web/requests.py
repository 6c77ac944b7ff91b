"""Send GET requests, read bounded answers, and decode them."""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from ..version import VERSION

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession, TCPConnector

ROBOT = "rundry"
"""The name of this crawler in a robots.txt."""
_CHARSET = re.compile(r"(?:^|[;\s])charset\s*=\s*[\"']?([A-Za-z0-9_:.+-]+)", re.IGNORECASE)
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]+)", re.IGNORECASE)
_META_WITHIN = 1024
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le"))
_NO_TEXT_ENCODINGS = {"punycode", "idna", "utf-7", "unicode_escape", "raw_unicode_escape", "undefined", "utf-8"}
"""Python codecs for which the body is not decoded: no page uses them, or it is UTF-8 anyway."""
_LONGEST_WAIT = 10
"""Maximum number of digits of a Retry-After header."""


def open_session(connector: TCPConnector, seconds: float, *, agent: str) -> ClientSession:
    """Open a session without cookies, without a proxy from the environment, and without following redirects.

    `seconds`: the time limit of one answer. `agent`: the text in brackets after the product name in the user agent.
    """
    from aiohttp import ClientSession, ClientTimeout, DummyCookieJar

    return ClientSession(
        connector=connector,
        cookie_jar=DummyCookieJar(),
        trust_env=False,
        timeout=ClientTimeout(total=seconds),
        headers={
            "User-Agent": f"{ROBOT}/{VERSION} (+{agent})",
            "Accept": "text/html,application/xhtml+xml,text/*;q=0.8,*/*;q=0.5",
        },
    )


def content_type(answer: ClientResponse) -> tuple[str, str | None]:
    """Return media type (empty: none) and charset (None: none) of an answer, such as `text/html` and `utf-8`."""
    return _content_type(answer.headers.get("Content-Type", ""))


@lru_cache(maxsize=256)
def _content_type(text: str) -> tuple[str, str | None]:
    kind, _, rest = text.partition(";")
    found = _CHARSET.search(rest)
    return kind.strip().lower(), found[1] if found else None


def is_html(kind: str, body: bytes) -> bool:
    """Return whether the answer is HTML, by its media type or, without one, by the beginning of the body."""
    if kind:
        return kind in ("text/html", "application/xhtml+xml")
    start = body[:_META_WITHIN].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return start.startswith((b"<!doctype html", b"<html", b"<head", b"<body", b"<!--"))


async def bounded_body(answer: ClientResponse, limit: int) -> tuple[bytes, bool]:
    """Return at most `limit` bytes of the decompressed body, and whether that is all. Raises aiohttp's errors."""
    stated = answer.content_length
    if stated is not None and stated <= limit and "Content-Encoding" not in answer.headers:
        return await answer.read(), True
    body = bytearray()
    async for piece in answer.content.iter_any():
        body += piece
        if len(body) > limit:
            answer.close()
            return bytes(body[:limit]), False
    return bytes(body), True


def decode_page(body: bytes, charset: str | None) -> str | bytes:
    """Decode a page by its byte order mark, its header or its `<meta>`. UTF-8, the default, is returned as bytes.

    Invalid bytes become U+FFFD. An unknown charset is ignored (WHATWG HTML, 13.2.3).
    """
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :] if name == "utf-8" else body.decode(name, "replace")
    stated = charset or "utf-8"
    if charset is None and (found := _META_CHARSET.search(body, 0, _META_WITHIN)):
        stated = found[1].decode("ascii")
        stated = "utf-8" if stated.lower().startswith("utf-16") else stated
    try:
        name = codecs.lookup(stated).name
        return body if name in _NO_TEXT_ENCODINGS else body.decode(name, "replace")
    except (LookupError, ValueError):
        return body


def retry_after(answer: ClientResponse, now: float) -> float | None:
    """Return the seconds that the server asks to wait, from a number or a date (RFC 9110, 10.2.3), or None.

    `now` is in Unix seconds.
    """
    import email.utils  # 4 ms

    stated = answer.headers.get("Retry-After", "").strip()
    if stated.isdecimal() and stated.isascii():
        return float(stated) if len(stated) <= _LONGEST_WAIT else None
    try:
        return max(0.0, email.utils.parsedate_to_datetime(stated).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def status_text(status: int, phrase: str | None) -> str:
    """Return a status as text, such as `404 Not Found`. Without a phrase from the server, the standard one is used."""
    from http import HTTPStatus

    try:
        return f"{status} {phrase or HTTPStatus(status).phrase}"[:100]
    except ValueError:
        return str(status)
