"""Parse a provider's error: its sentences, its codes, and how long it asks to wait."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from .retry_after import body_delay

LONGEST = 400
"""Characters of a provider's text that the person sees."""
_SEARCHED = 8_000
"""Characters of a provider's text that decide about the kind of the fault: its start, and its end."""
_TEXTS = (
    "message",
    "Message",
    "errors",
    "detail",
    "msg",
    "error_msg",
    "error_message",
    "errorMessage",
    "title",
    "error",
)
_CODES = ("code", "type", "status", "reason", "error_type", "__type", "quotaId")
_FIELDS = ("param", "field", "loc")
_PAGE = re.compile(r"<title[^>]*>(.*?)</title>|<h1[^>]*>(.*?)</h1>", re.I | re.S)
_PAIR = re.compile(r'"(\w+)"\s*:\s*(?:"((?:[^"\\]|\\.)*)|(\d+))')
"""A name and its value in JSON that was cut off."""


class ReportedError(msgspec.Struct, frozen=True, kw_only=True):
    """An error in the provider's words."""

    text: str = ""
    """The message as one line, shortened for the person."""
    whole: str = ""
    """All sentences, to search in."""
    fields: tuple[str, ...] = ()
    """Parameters of the request that the error names."""
    codes: tuple[str, ...] = ()
    """Codes and types in the provider's own spelling."""
    status: int | None = None
    """HTTP status given in the body."""
    delay: float | None = None
    """Seconds that the body asks to wait."""

    @property
    def all(self) -> str:
        """Sentences and codes, to search in."""
        return " ".join((self.whole or self.text, *self.codes))


def read_error(value: object, charset: str | None = None) -> ReportedError:
    """Read the error in a body (bytes, text) or in a decoded JSON value. Never raises.

    `charset`: the encoding that the server names for bytes, which may be wrong.
    """
    if isinstance(value, bytes):
        value = _as_text(value, charset)
    if isinstance(value, str):
        value = _decoded(value)
    texts = list(dict.fromkeys(t for t in (_line(t) for t in _texts(value)) if t))
    kept = [t for i, t in enumerate(texts) if not any(t in other for other in texts[:i])]
    codes = tuple(dict.fromkeys(_codes(value)))
    text = ": ".join(kept[:2])
    numbers = [int(c) for c in codes if c.isdigit() and 400 <= int(c) < 600]
    whole = "\n".join(kept)
    if len(whole) > _SEARCHED:
        whole = f"{whole[: _SEARCHED // 2]}\n{whole[-_SEARCHED // 2 :]}"
    return ReportedError(
        text=text if len(text) <= LONGEST else text[:LONGEST] + " ...",
        whole=whole,
        fields=tuple(dict.fromkeys(_named_fields(value))),
        codes=tuple(c for c in codes if not c.isdigit()),
        status=numbers[0] if numbers else None,
        delay=body_delay(value, whole),
    )


def _as_text(body: bytes, charset: str | None) -> str:
    """Decode a body: as UTF-8, UTF-16 or UTF-32 if it is valid, else with the charset that the server names."""
    for encoding in (json.detect_encoding(body), charset):
        try:
            return body.decode(encoding or "utf-8")
        except (UnicodeDecodeError, LookupError):
            continue
    return body.decode(errors="replace")


def _decoded(text: str) -> object:
    """Decode JSON, also after other words; else return the text, or a web page's title."""
    text = text.strip()
    start = min((i for i in (text.find("{"), text.find("[")) if i >= 0), default=-1)
    if start >= 0:
        try:
            return msgspec.json.decode(text[start:])
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            if (found := _pairs(text[start:])) and any(name in found for name in _TEXTS):
                return found
    if text[:200].lstrip().lower().startswith(("<!doctype", "<html")):
        page = _PAGE.search(text)
        return (page[1] or page[2]) if page else "a web page"
    return text


def _pairs(text: str) -> dict[str, object]:
    """Return the names and values in JSON that was cut off or is invalid, without its structure."""
    found: dict[str, object] = {}
    for match in _PAIR.finditer(text[:_SEARCHED]):
        name, words, number = match.groups()
        if number is not None:
            found.setdefault(name, int(number[:18]))
            continue
        try:
            found.setdefault(name, json.loads(f'"{words}"', strict=False))
        except ValueError:  # cut within an escape
            found.setdefault(name, words)
    return found


def _texts(value: object, depth: int = 0) -> Iterator[str]:
    """Yield the error texts for people, the outermost first."""
    if isinstance(value, str):
        inner = _decoded(value) if value.lstrip().startswith(("{", "[")) else value
        if isinstance(inner, str):
            yield inner
        elif depth < 6:
            yield from _texts(inner, depth + 1)
    elif isinstance(value, list) and depth < 6:
        for item in cast(list[object], value)[:4]:
            yield from _texts(item, depth + 1)
    elif isinstance(value, dict) and depth < 6:
        fields = cast(dict[str, object], value)
        for name in _TEXTS:
            yield from _texts(fields.get(name), depth + 1)
        metadata = fields.get("metadata")
        if isinstance(metadata, dict):  # OpenRouter: the words of the provider behind it
            yield from _texts(cast(dict[str, Any], metadata).get("raw"), depth + 1)


def _codes(value: object, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        value = _decoded(value)
    if isinstance(value, list) and depth < 6:
        for item in cast(list[object], value)[:8]:
            yield from _codes(item, depth + 1)
    if not isinstance(value, dict) or depth >= 6:
        return
    fields = cast(dict[str, object], value)
    for name in _CODES:
        code = fields.get(name)
        if isinstance(code, str | int) and not isinstance(code, bool) and code != "":
            yield str(code)
    for name in ("error", "details", "detail", "message", "metadata", "raw", "violations"):
        yield from _codes(fields.get(name), depth + 1)


def _named_fields(value: object, depth: int = 0) -> Iterator[str]:
    """Yield the parameters that the error names: OpenAI's `param`, FastAPI's `loc` (a path)."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        value = _decoded(value)
    if isinstance(value, list) and depth < 6:
        for item in cast(list[object], value)[:8]:
            yield from _named_fields(item, depth + 1)
    if not isinstance(value, dict) or depth >= 6:
        return
    fields = cast(dict[str, object], value)
    for name in _FIELDS:
        found = fields.get(name)
        if isinstance(found, str) and found:
            yield found
        elif isinstance(found, list):
            path = [p for p in cast(list[object], found) if isinstance(p, str) and p != "body"]
            yield from path[:1]
    for name in ("error", "details", "detail", "message", "errors"):
        yield from _named_fields(fields.get(name), depth + 1)


def _line(text: str) -> str:
    return " ".join(text.split())
