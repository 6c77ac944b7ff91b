"""What every GET of ours has in common: who asks, how an answer is read, and how much of it."""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession, TCPConnector

ROBOT = "rundry"
"""Our name in a robots.txt."""
_CHARSET = re.compile(r"(?:^|[;\s])charset\s*=\s*[\"']?([A-Za-z0-9_:.+-]+)", re.IGNORECASE)
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]+)", re.IGNORECASE)
_META_WITHIN = 1024
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le"))
_NO_TEXT_ENCODINGS = {"punycode", "idna", "utf-7", "unicode_escape", "raw_unicode_escape", "undefined", "utf-8"}
"""Codecs of Python's that no page is written in (or that need no decoding)."""
_LONGEST_WAIT = 10
"""Digits of a Retry-After."""


def open_session(connector: TCPConnector, seconds: float, *, agent: str) -> ClientSession:
    """A session that keeps no cookies, asks no proxy of the environment, and follows nothing by itself.

    `seconds` bounds one answer whole; `agent` stands in brackets behind our name.
    """
    from aiohttp import ClientSession, ClientTimeout, DummyCookieJar

    return ClientSession(
        connector=connector,
        cookie_jar=DummyCookieJar(),
        trust_env=False,
        timeout=ClientTimeout(total=seconds),
        headers={
            "User-Agent": f"{ROBOT}/{_version()} (+{agent})",
            "Accept": "text/html,application/xhtml+xml,text/*;q=0.8,*/*;q=0.5",
        },
    )


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # 6 ms

    try:
        return version(ROBOT)
    except PackageNotFoundError:  # run from a copy that was never installed
        return "0"


def content_type(answer: ClientResponse) -> tuple[str, str | None]:
    """Media type and charset: `text/html` and `utf-8`, the first in lower case, empty where it says none."""
    return _content_type(answer.headers.get("Content-Type", ""))


@lru_cache(maxsize=256)
def _content_type(text: str) -> tuple[str, str | None]:
    kind, _, rest = text.partition(";")
    found = _CHARSET.search(rest)
    return kind.strip().lower(), found[1] if found else None


def is_html(kind: str, body: bytes) -> bool:
    """By its media type; where there is none, by how it begins."""
    if kind:
        return kind in ("text/html", "application/xhtml+xml")
    start = body[:_META_WITHIN].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return start.startswith((b"<!doctype html", b"<html", b"<head", b"<body", b"<!--"))


async def bounded_body(answer: ClientResponse, limit: int) -> tuple[bytes, bool]:
    """At most `limit` bytes of the decompressed body, and whether that is all of it. Raises aiohttp's errors."""
    told = answer.content_length
    if told is not None and told <= limit and "Content-Encoding" not in answer.headers:
        return await answer.read(), True
    body = bytearray()
    async for piece in answer.content.iter_any():
        body += piece
        if len(body) > limit:
            answer.close()
            return bytes(body[:limit]), False
    return bytes(body), True


def decoded(body: bytes, charset: str | None) -> str | bytes:
    """The text of a page: by its byte-order mark, its header, its `<meta>`, else UTF-8; UTF-8 stays bytes.

    What cannot be decoded becomes U+FFFD; a charset that does not exist is as none (WHATWG HTML, 13.2.3).
    """
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :] if name == "utf-8" else body.decode(name, "replace")
    told = charset or "utf-8"
    if charset is None and (found := _META_CHARSET.search(body, 0, _META_WITHIN)):
        told = found[1].decode("ascii")
        told = "utf-8" if told.lower().startswith("utf-16") else told
    try:
        name = codecs.lookup(told).name
        return body if name in _NO_TEXT_ENCODINGS else body.decode(name, "replace")
    except (LookupError, ValueError):
        return body


def retry_after(answer: ClientResponse, now: float) -> float | None:
    """Seconds that the other side asks to wait, given as a number or a date (RFC 9110, 10.2.3); None: it does not.

    `now` in Unix seconds.
    """
    import email.utils  # 4 ms

    told = answer.headers.get("Retry-After", "").strip()
    if told.isdecimal() and told.isascii():
        return float(told) if len(told) <= _LONGEST_WAIT else None
    try:
        return max(0.0, email.utils.parsedate_to_datetime(told).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def said(status: int, phrase: str | None) -> str:
    """`404 Not Found`; the phrase is the standard's where the server gave none."""
    from http import HTTPStatus

    try:
        return f"{status} {phrase or HTTPStatus(status).phrase}"[:100]
    except ValueError:
        return str(status)
