"""Find how long a provider asks to wait: in its headers, in fields of its body, or in its words."""

from __future__ import annotations

import datetime
import email.utils
import math
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import cast

_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_ONE = (
    r"(\d{1,12}(?:\.\d{1,9})?)\s*"
    r"(milliseconds?|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)(?![a-z])"
)
_DURATION = re.compile(rf"{_ONE}", re.I)
_IN_TEXT = re.compile(
    r"\b(?:try|retry|again|retrying|wait|available|resets?|back)(?:ing)?(?: again)?(?: for| in| after| at least)?"
    rf"\s*(?:about |approximately |another |~)?:?\s*((?:{_ONE}[\s,]*(?:and )?)+)",
    re.I,
)
_BARE_IN_TEXT = re.compile(
    r"\b(?:try again|retry|retry again) (?:in|after):?\s*(\d{1,9}(?:\.\d{1,9})?)(?=\s*$|[.,;)\s])", re.I
)
_FIELDS: dict[str, float] = {
    "retrydelay": 1.0,
    "retryafter": 1.0,
    "retryafterseconds": 1.0,
    "retryafters": 1.0,
    "retryafterms": 0.001,
    "retryaftermilliseconds": 0.001,
    "retryin": 1.0,
    "waitseconds": 1.0,
}
"""Fields of a body without case and underscores, and the unit in seconds of a number in them."""
_RESET = re.compile(r"^(.*ratelimit.*?)reset(?:-after)?(.*)$")
_EPOCH = 1e9
"""Numbers above it are Unix times: in seconds, or above 1e11 in milliseconds."""
_LIMITED = frozenset({413, 429, 503, 529})
"""Statuses with which the headers about a rate say when to come back."""


def headers_delay(headers: Mapping[str, str], status: int | None = 429) -> float | None:
    """Return the seconds that the headers ask to wait, or None if they do not.

    `Retry-After` (RFC 9110, 10.2.3: seconds or a date) and `retry-after-ms` count. Azure sends `retry-after-ms: 0` next
    to `retry-after: 1`: the longer one counts. Without them, the reset of the limit counts whose rest is 0.
    """
    fields = {k.lower().strip(): v.strip() for k, v in headers.items()}
    found = [seconds(fields.get("retry-after", ""))]
    found += [_number(fields.get(name, ""), 0.001) for name in ("retry-after-ms", "x-ms-retry-after-ms")]
    if any(f is not None for f in found):
        return max(f for f in found if f is not None)
    return max(_resets(fields), default=None) if status in _LIMITED else None


def body_delay(value: object, text: str) -> float | None:
    """Return the seconds that a field of the decoded body asks to wait, else those in its words.

    Returns None if neither does.
    """
    in_fields = next(_field_delays(value), None)
    return _words_delay(text) if in_fields is None else in_fields


def seconds(value: str) -> float | None:
    """Return the seconds of a value: a number, a duration (`1m2.5s`), a date (HTTP, ISO 8601), a Unix time."""
    value = value.strip().strip('"')
    if (number := _number(value, 1.0)) is not None:
        return number if number < _EPOCH else max(0.0, (number if number < 1e11 else number / 1000) - time.time())
    if _DURATION.fullmatch(value) or re.fullmatch(rf"(?:{_ONE})+", value, re.I):
        return _duration(value)
    for read in (_http_date, _iso_date):
        with suppress(ValueError, OverflowError, TypeError):  # an impossible date is ignored
            return max(0.0, read(value) - time.time())
    return None


def _resets(fields: Mapping[str, str]) -> Iterator[float]:
    """Yield the seconds until each limit without a rest is reset. A reset whose rest is unknown counts too."""
    for name, value in fields.items():
        match = _RESET.match(name)
        if match is None:
            continue
        before, after = match.groups()
        rests = [fields.get(f"{before}remaining{after}"), fields.get(name.replace("reset", "remaining"))]
        rest = next((r for r in rests if r is not None), "0")
        if _number(rest, 1.0) == 0 and (wait := seconds(value)) is not None:
            yield wait


def _field_delays(value: object, depth: int = 0) -> Iterator[float]:
    """Yield the waits in fields such as Google's `retryDelay` ("37s") or a repeated header."""
    if depth > 8:
        return
    children: list[object] = []
    if isinstance(value, dict):
        fields = cast(dict[str, object], value)
        for name, field in fields.items():
            unit = _FIELDS.get(re.sub(r"[_\-]", "", name).lower())
            if unit is not None and (wait := _field_value(field, unit)) is not None:
                yield wait
        headers = fields.get("headers")
        if isinstance(headers, dict):  # OpenRouter repeats the headers in the body
            texts = {str(k): str(v) for k, v in cast(dict[object, object], headers).items()}
            if (wait := headers_delay(texts)) is not None:
                yield wait
        children = list(fields.values())
    elif isinstance(value, list):
        children = cast(list[object], value)
    for child in children[:32]:
        yield from _field_delays(child, depth + 1)


def _field_value(value: object, unit: float) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return max(0.0, value * unit) if math.isfinite(value) else None
    if isinstance(value, str):
        return number if (number := _number(value, unit)) is not None else seconds(value)
    if isinstance(value, dict):  # a google.protobuf.Duration as an object
        fields = cast(dict[str, object], value)
        whole = _field_value(fields.get("seconds"), 1.0)
        return None if whole is None else whole + (_field_value(fields.get("nanos"), 1e-9) or 0.0)
    return None


def _words_delay(text: str) -> float | None:
    if (match := _IN_TEXT.search(text)) is not None:
        return _duration(match[1])
    bare = _BARE_IN_TEXT.search(text)
    return None if bare is None else float(bare[1])


def _duration(text: str) -> float:
    return sum(float(n) * _UNITS[_unit(name)] for n, name in _DURATION.findall(text))


def _unit(name: str) -> str:
    name = name.lower()
    return "ms" if name.startswith(("ms", "milli")) else name[0]


def _number(text: str, unit: float) -> float | None:
    return float(text) * unit if re.fullmatch(r"\d{1,15}(\.\d{1,9})?", text) else None


def _http_date(value: str) -> float:
    parsed = email.utils.parsedate_tz(value)
    if parsed is None:
        raise ValueError(value)
    return float(email.utils.mktime_tz(parsed))


def _iso_date(value: str) -> float:
    date = datetime.datetime.fromisoformat(value)
    return (date if date.tzinfo else date.replace(tzinfo=datetime.UTC)).timestamp()
