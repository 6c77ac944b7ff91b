"""Check the answer of a user's worker against the contract (docs/requirements.md 13.2)."""

from __future__ import annotations

import json
import re
from typing import Any, cast

import msgspec

from ...protocol import ITEM_KINDS
from ...protocol.text.double_keys import double_key
from ...protocol.text.shorten_text import line_cut
from ..items.item_state import Candidate
from .worker import ItemResult, ReportedFinding

LONGEST = 64_000_000
"""Bytes of the longest answer: more than a million items."""
QUOTED = 300
"""Characters of an answer that an error message quotes."""
LONGEST_ERROR = 1_000
STANDARD_ERROR = "; standard error: "
"""Between the cause of a failure and what else standard error says."""
_LAST = 8_000
"""Bytes at the end of standard error in which the cause is looked for."""
_CAUSE = re.compile(r"error|exception|fatal|panic|refused|denied|cannot|could not|not found", re.IGNORECASE)
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


def read_reply(answer: bytes) -> ItemResult:
    """Parse the answer. `error` is set if it is not a JSON object, has unknown fields or wrong types."""
    if not answer.strip():
        return ItemResult(error="the answer is empty: write one JSON object")
    try:
        reply = msgspec.json.decode(answer, type=_Reply)  # decodes a million items without dicts in between
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _refused(answer)
    if _may_have_double_key(answer, reply) and (key := double_key(answer.decode())) is not None:
        return ItemResult(error=f"the answer has the key `{line_cut(key, 60)}` twice in one object: write it once")
    return _checked(reply)


def _may_have_double_key(answer: bytes, reply: _Reply) -> bool:
    """Return whether a key may be there twice: a million items are counted faster than their keys are compared."""
    items, findings = len(reply.items or ()), len(reply.findings or ())
    limits = dict.fromkeys(_FIELDS, 1) | dict.fromkeys(("kind", "value"), items)
    limits |= dict.fromkeys(("title", "detail", "evidence", "key"), findings)
    return b"\\u" in answer or any(answer.count(b'"%b"' % name.encode()) > count for name, count in limits.items())


def _refused(answer: bytes) -> ItemResult:
    """Describe why an answer is invalid."""
    try:
        value: Any = msgspec.json.decode(answer)
    except (msgspec.DecodeError, UnicodeError):
        return ItemResult(error=f"{_no_json(answer)}: {quoted(answer)}")
    except RecursionError:
        return ItemResult(error="the answer is JSON that is nested too deeply")
    if not isinstance(value, dict):
        return ItemResult(error=f"the answer is {_name(value)}, not a JSON object: {quoted(answer)}")
    fields = cast("dict[str, object]", value)
    unknown = [name for name in fields if name not in _FIELDS]
    if unknown:
        named = quoted(", ".join(unknown).encode("utf-8", "replace"), 100)
        return ItemResult(error=f"the answer has an unknown field ({named}); the fields are {', '.join(_FIELDS)}")
    if (unknown_kind := _unknown_kind(fields.get("items"))) is not None:
        return ItemResult(error=unknown_kind)
    try:
        return _checked(msgspec.convert(fields, _Reply))
    except msgspec.ValidationError as wrong:
        text, _, place = str(wrong).partition(" - at ")
        return ItemResult(error=f"the answer is wrong at {place.strip('`') or 'the top'}: {text}")


def _unknown_kind(items: object) -> str | None:
    """Describe the first item whose kind is a text but not one of the kinds."""
    for place, item in enumerate(cast("list[object]", items) if isinstance(items, list) else ()):
        kind = cast("dict[str, object]", item).get("kind") if isinstance(item, dict) else None
        if isinstance(kind, str) and kind not in ITEM_KINDS:
            return f"items[{place}] has the unknown kind {kind[:40]!r}; use {', '.join(ITEM_KINDS)}"
    return None


def quoted(output: bytes, limit: int = QUOTED) -> str:
    """Return the beginning of an output, on one line."""
    return line_cut(output[: limit * 4].decode("utf-8", "replace"), limit)


def with_cause(error: str, errors: bytes) -> str:
    """Return the error with what standard error says: first the line that names the cause, then the end before it."""
    lines = [" ".join(line.split()) for line in errors[-_LAST:].decode("utf-8", "replace").splitlines()]
    lines = [line for line in lines if line]
    if not lines:
        return line_cut(error, LONGEST_ERROR)
    at = next((at for at in range(len(lines) - 1, -1, -1) if _CAUSE.search(lines[at])), len(lines) - 1)
    cause, rest = line_cut(lines[at], QUOTED), " ".join(lines[:at] + lines[at + 1 :])
    if not rest:
        return line_cut(f"{error}: {cause}", LONGEST_ERROR)
    end = rest if len(rest) <= QUOTED else f"…{rest[-QUOTED:]}"
    return line_cut(f"{error}: {cause}{STANDARD_ERROR}{end}", LONGEST_ERROR)


def _checked(reply: _Reply) -> ItemResult:
    for place, item in enumerate(reply.items or []):
        if not item.value.strip():
            return ItemResult(error=f"items[{place}] has an empty value")
    for place, finding in enumerate(reply.findings or []):
        if not finding.title.strip():
            return ItemResult(error=f"findings[{place}] has an empty title")
    return ItemResult(
        items=reply.items or [],
        findings=[
            ReportedFinding(found.title, found.detail or "", found.evidence or "", found.key or None)
            for found in reply.findings or []
        ],
        found_new=reply.found_new,
        reason=reply.reason or "",
        error=line_cut(reply.error or "", LONGEST_ERROR),
    )


def _no_json(answer: bytes) -> str:
    """Describe why the answer is not a JSON text."""
    try:
        text = answer.decode()
    except UnicodeDecodeError:
        return "the answer is not UTF-8"
    try:
        _, end = json.JSONDecoder().raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        return "the answer is not JSON"
    rest = text.lstrip()[end:].strip()
    if not rest:  # NaN and lone surrogates are accepted there, but not by the strict parser
        return "the answer is not JSON (NaN, Infinity or a lone surrogate)"
    more = re.match(r"[\[{\"]", rest) is not None
    return "the answer has several JSON values: write one" if more else "the answer has text after its JSON"


def _name(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case _:
            return "a list"
