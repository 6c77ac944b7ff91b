"""What a worker of the user's answers, held against the contract of docs/requirements.md 13.2."""

from __future__ import annotations

import json
import re
from typing import Any, cast

import msgspec

from ..items.frontier import Candidate
from ..items.keys import KINDS
from .worker import ReportedFinding, Worked

LONGEST = 64_000_000
"""Bytes of an answer: a million items and more."""
QUOTED = 300
"""Characters of an answer that an error repeats."""
_LONGEST_ERROR = 1_000
_FIELDS = ("items", "findings", "found_new", "reason", "error")


class _Finding(msgspec.Struct):
    title: str
    detail: str | None = None
    evidence: str | None = None
    key: str | None = None


class _Reply(msgspec.Struct, forbid_unknown_fields=True):
    items: list[Candidate] | None = None
    findings: list[_Finding] | None = None
    found_new: bool | None = None
    reason: str | None = None
    error: str | None = None


def read_reply(answer: bytes) -> Worked:
    """What the one JSON object says; an `error` where it is none, names no such field or has the wrong types."""
    if not answer.strip():
        return Worked(error="it answered nothing: one JSON object is expected")
    try:
        return _checked(msgspec.json.decode(answer, type=_Reply))  # a million items need no dicts on the way
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _refused(answer)


def _refused(answer: bytes) -> Worked:
    """Why it is none."""
    try:
        value: Any = msgspec.json.decode(answer)
    except (msgspec.DecodeError, UnicodeError):
        return Worked(error=f"{_no_json(answer)}: {quoted(answer)}")
    except RecursionError:
        return Worked(error="it answered JSON that is nested too deeply")
    if not isinstance(value, dict):
        return Worked(error=f"it answered no JSON object but {_name(value)}: {quoted(answer)}")
    fields = cast("dict[str, object]", value)
    unknown = [name for name in fields if name not in _FIELDS]
    if unknown:
        named = quoted(", ".join(unknown).encode("utf-8", "replace"), 100)
        return Worked(error=f"it answered an unknown field ({named}); there are {', '.join(_FIELDS)}")
    try:
        return _checked(msgspec.convert(fields, _Reply))
    except msgspec.ValidationError as wrong:
        text, _, place = str(wrong).partition(" - at ")
        return Worked(error=f"it answered wrongly at {place.strip('`') or 'the top'}: {text}")


def one_line(text: str, limit: int = _LONGEST_ERROR) -> str:
    """On one line, its end left out where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[:limit]}..."


def quoted(said: bytes, limit: int = QUOTED) -> str:
    """The beginning of an output, on one line."""
    return one_line(said[: limit * 4].decode("utf-8", "replace"), limit)


def last_words(errors: bytes, limit: int = QUOTED) -> str:
    """The end of what was said on standard error, on one line; empty where nothing was said."""
    text = " ".join(errors[-limit * 4 :].decode("utf-8", "replace").split())
    return text if len(text) <= limit else f"...{text[-limit:]}"


def _checked(reply: _Reply) -> Worked:
    for place, item in enumerate(reply.items or []):
        if item.kind not in KINDS:
            return Worked(error=f"items[{place}] is of the kind {item.kind[:40]!r}: there are {', '.join(KINDS)}")
        if not item.value.strip():
            return Worked(error=f"items[{place}] has an empty value")
    for place, finding in enumerate(reply.findings or []):
        if not finding.title.strip():
            return Worked(error=f"findings[{place}] has an empty title")
    return Worked(
        items=reply.items or [],
        findings=[
            ReportedFinding(found.title, found.detail or "", found.evidence or "", found.key or None)
            for found in reply.findings or []
        ],
        found_new=reply.found_new,
        reason=reply.reason or "",
        error=one_line(reply.error or ""),
    )


def _no_json(answer: bytes) -> str:
    """Why it is no JSON text, in words."""
    try:
        text = answer.decode()
    except UnicodeDecodeError:
        return "it answered no UTF-8 text"
    try:
        _, end = json.JSONDecoder().raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        return "it answered no JSON"
    rest = text.lstrip()[end:].strip()
    if not rest:  # NaN and half characters pass there, and nowhere else
        return "it answered what is no JSON (NaN, Infinity or half a character)"
    more = re.match(r"[\[{\"]", rest) is not None
    return "it answered several JSON values, one is expected" if more else "it answered more than its JSON"


def _name(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a truth value"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case _:
            return "a list"
