"""Send GET requests, read bounded answers, and decode them."""

from __future__ import annotations

import codecs
import re
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING

from ...protocol.version import VERSION

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession, TCPConnector

ROBOT = "rundry"
"""The name of this crawler in a robots.txt."""
_CHARSET = re.compile(r"(?:^|[;\s])charset\s*=\s*[\"']?([A-Za-z0-9_:.+-]+)", re.IGNORECASE)
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]+)", re.IGNORECASE)
_META_WITHIN = 1024
_UNUSUAL = re.compile(r"[^a-z0-9, _-]")
"""Characters that no name of a content coding has."""
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le"))
_UNDECODED = {"punycode", "idna", "utf-7", "unicode_escape", "raw_unicode_escape", "undefined", "utf-8"}
"""Python codecs for which the body is not decoded: no page uses them, or it is UTF-8 anyway."""
_LONGEST_WAIT = 10
"""Maximum number of digits of a Retry-After header."""


class UnreadableBody(ValueError):
    """The body cannot be decoded; the message says why."""


def open_session(connector: TCPConnector, seconds: float, *, agent: str) -> ClientSession:
    """Open a session without cookies, without a proxy from the environment, and without following redirects.

    `bounded_body` decompresses, not aiohttp, which accepts a body that ends too early or has an unknown coding.
    `seconds`: the time limit of one answer. `agent`: the text in brackets after the product name in the user agent.
    """
    from aiohttp import ClientSession, ClientTimeout, DummyCookieJar

    return ClientSession(
        connector=connector,
        cookie_jar=DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
        timeout=ClientTimeout(total=seconds),
        headers={
            "User-Agent": f"{ROBOT}/{VERSION} (+{agent})",
            "Accept": "text/html,application/xhtml+xml,text/*;q=0.8,*/*;q=0.5",
            "Accept-Encoding": "gzip, deflate",
        },
    )


def content_type(answer: ClientResponse) -> tuple[str, str | None]:
    """Return the media type (or empty) and charset (or None) of an answer, such as `text/html` and `utf-8`."""
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
    """Return at most `limit` bytes of the decompressed body, and whether that is all.

    Raises UnreadableBody, and aiohttp's errors for a transfer that ended too early.
    """
    stated = answer.content_length
    codings = [one for one in _codings(answer) if one != "identity"]
    if not codings and stated is not None and stated <= limit:
        return await answer.read(), True
    inflate = _Inflate(codings) if codings else None
    body = bytearray()
    async for piece in answer.content.iter_any():
        body += piece if inflate is None else inflate.feed(piece, limit + 1 - len(body))
        if len(body) > limit:
            answer.close()
            return bytes(body[:limit]), False
    if inflate is not None:
        inflate.finish()
    return bytes(body), True


def _codings(answer: ClientResponse) -> list[str]:
    stated = ",".join(answer.headers.getall("Content-Encoding", ()))
    return [one.strip().lower() for one in stated.split(",") if one.strip()]


class _Inflate:
    """Decompress a body with the coding `gzip` or `deflate`."""

    def __init__(self, codings: list[str]) -> None:
        if codings not in (["gzip"], ["x-gzip"], ["deflate"]):
            raise UnreadableBody(f"its content coding `{_UNUSUAL.sub('?', ', '.join(codings))[:60]}` is not known")
        self._is_gzip = codings != ["deflate"]
        self._stream = zlib.decompressobj()
        self._is_begun = False

    def feed(self, piece: bytes, limit: int) -> bytes:
        """Return what the next piece holds, at most `limit` bytes. Raises UnreadableBody."""
        found = bytearray()
        while piece and len(found) < limit:
            if not self._is_begun:
                self._is_begun = True
                # Some servers send `deflate` without the header of zlib.
                raw = not self._is_gzip and piece[0] & 0x0F != zlib.DEFLATED
                self._stream = zlib.decompressobj(-zlib.MAX_WBITS if raw else zlib.MAX_WBITS + 16 * self._is_gzip)
            elif self._stream.eof:
                if not self._is_gzip or piece[:1] != b"\x1f":
                    return bytes(found)  # padding after the end
                self._stream = zlib.decompressobj(zlib.MAX_WBITS + 16)
            try:
                found += self._stream.decompress(piece, limit - len(found))
            except zlib.error:
                raise UnreadableBody(f"its body is not {'gzip' if self._is_gzip else 'deflate'} data") from None
            piece = self._stream.unused_data
        return bytes(found)

    def finish(self) -> None:
        """Raise aiohttp's error for a transfer that ended too early, if the compressed data did."""
        from aiohttp import ClientPayloadError

        if self._is_begun and not self._stream.eof:
            raise ClientPayloadError("its compressed body ends too early")


def decode_page(body: bytes, charset: str | None) -> str | bytes:
    """Decode a page by its byte order mark, its header or its `<meta>`. UTF-8, the default, is returned as bytes.

    Invalid bytes become U+FFFD. An unknown charset is ignored if the page is UTF-8 (WHATWG HTML, 13.2.3). Raises
    UnreadableBody if it is not.
    """
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :] if name == "utf-8" else body.decode(name, "replace")
    stated = charset or "utf-8"
    if charset is None and (found := _META_CHARSET.search(body, 0, _META_WITHIN)):
        stated = found[1].decode("ascii")
        stated = "utf-8" if stated.lower().startswith("utf-16") else stated
    for name in (stated, stated.lower().removeprefix("x-")):
        try:
            known = codecs.lookup(name).name
            return body if known in _UNDECODED else body.decode(known, "replace")
        except (LookupError, ValueError):
            continue
    try:
        body.decode()
    except UnicodeDecodeError:
        raise UnreadableBody(f"its charset `{stated[:60]}` is not known, and it is not UTF-8") from None
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
