"""Parse a provider's error: its sentence, its codes, and how long it asks to wait."""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

import msgspec

LONGEST = 400
"""Characters of a provider's text that the person sees."""
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
_CODES = ("code", "type", "status", "reason", "error_type", "__type")
_PAGE = re.compile(r"<title[^>]*>(.*?)</title>|<h1[^>]*>(.*?)</h1>", re.I | re.S)
_IN_TEXT = re.compile(
    r"(?:try again|retry|retry again|wait|available) (?:in|after)\s*:?\s*(?:(\d+)\s*h)?\s*(?:(\d+)\s*m(?!s))?\s*"
    r"(?:(\d+(?:\.\d+)?)\s*(ms|s(?:ec(?:ond)?s?)?)\b)?",
    re.I,
)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)s")


class ReportedError(msgspec.Struct, frozen=True, kw_only=True):
    """An error in the provider's words."""

    text: str = ""
    """The message as one line."""
    codes: tuple[str, ...] = ()
    """Codes and types in the provider's own spelling."""
    status: int | None = None
    """HTTP status given in the body."""
    delay: float | None = None
    """Seconds that the body asks to wait."""

    @property
    def all(self) -> str:
        """Text and codes, to search in."""
        return " ".join((self.text, *self.codes))


def read_error(value: object) -> ReportedError:
    """Read the error in a body (bytes, text) or in a decoded JSON value. Never raises."""
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, str):
        value = _decoded(value)
    texts = list(dict.fromkeys(t for t in (_line(t) for t in _texts(value)) if t))
    kept = [t for i, t in enumerate(texts) if not any(t in other for other in texts[:i])]
    codes = tuple(dict.fromkeys(_codes(value)))
    text = ": ".join(kept[:2])
    numbers = [int(c) for c in codes if c.isdigit() and 400 <= int(c) < 600]
    return ReportedError(
        text=text if len(text) <= LONGEST else text[:LONGEST] + " ...",
        codes=tuple(c for c in codes if not c.isdigit()),
        status=numbers[0] if numbers else None,
        delay=_delay_of(value, text),
    )


def delay_in(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of `Retry-After` (RFC 9110, 10.2.3: seconds or a date) or `retry-after-ms`.

    Azure sends `retry-after-ms: 0` next to `retry-after: 1`: the longer one counts.
    """
    fields = {k.lower(): v.strip() for k, v in headers.items()}
    found: list[float] = []
    if _is_number(ms := fields.get("retry-after-ms", "")):
        found.append(float(ms) / 1000)
    value = fields.get("retry-after", "")
    if _is_number(value):
        found.append(float(value))
    elif value and (date := email.utils.parsedate_tz(value)) is not None:
        with suppress(ValueError, OverflowError):  # an impossible year is ignored
            found.append(max(email.utils.mktime_tz(date) - time.time(), 0.0))
    return max(found) if found else None


def _decoded(text: str) -> object:
    """Decode JSON, also after other words; else return the text, or a web page's title."""
    text = text.strip()
    start = min((i for i in (text.find("{"), text.find("[")) if i >= 0), default=-1)
    if start >= 0:
        try:
            return msgspec.json.decode(text[start:])
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            pass
    if text[:200].lstrip().lower().startswith(("<!doctype", "<html")):
        page = _PAGE.search(text)
        return (page[1] or page[2]) if page else "a web page"
    return text


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
    for name in ("error", "details", "detail", "message", "metadata", "raw"):
        yield from _codes(fields.get(name), depth + 1)


def _delay_of(value: object, text: str) -> float | None:
    """Return Google's `retryDelay` ("37s"), else the delay in the text ("try again in 1m2.5s")."""
    if (found := _retry_delay(value)) is not None:
        return found
    match = _IN_TEXT.search(text)
    if match is None or not any(match.group(1, 2, 3)):
        return None
    hours, minutes, seconds, unit = match.groups()
    scale = 0.001 if (unit or "").lower() == "ms" else 1.0
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds or 0) * scale


def _retry_delay(value: object, depth: int = 0) -> float | None:
    children: list[object] = []
    if isinstance(value, dict):
        fields = cast(dict[str, object], value)
        delay = fields.get("retryDelay")
        if isinstance(delay, str) and (match := _DURATION.fullmatch(delay.strip())):
            return float(match[1])
        children = list(fields.values())
    elif isinstance(value, list):
        children = cast(list[object], value)
    if depth >= 6:
        return None
    return next((d for child in children[:32] if (d := _retry_delay(child, depth + 1)) is not None), None)


def _line(text: str) -> str:
    return " ".join(text.split())


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d+(\.\d+)?", text) is not None
