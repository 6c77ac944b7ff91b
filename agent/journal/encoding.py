"""Encode and decode events and commands: keys are hidden, and any text from a model or file name is accepted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import msgspec

from ..protocol import Command, Event, Unknown, decode_command, decode_event, encode_event, event_type
from ..protocol.text.broken_json import BROKEN_JSON

if TYPE_CHECKING:
    from .redact import Redactor

_BIGGEST = 2**63
_EXACT = frozenset({"decide", "shell", "switch_model"})
"""Commands whose text is executed, written to a file, or names a server."""

_DAMAGED = Unknown("damaged", b'{"type":"damaged"}')


def encode(event: Event, redactor: Redactor) -> tuple[Event, bytes]:
    """Return the event as it is recorded, and its JSON."""
    try:
        raw = encode_event(event)
    except (UnicodeEncodeError, OverflowError):
        event = decode_event(event_type(event), msgspec.json.encode(_json_value(msgspec.to_builtins(event))))
        raw = encode_event(event)
    if not redactor.may_contain_key(raw):
        return event, raw
    fields = cast("dict[str, object]", msgspec.json.decode(raw))
    hidden = redactor.event(fields)
    if hidden == fields:
        return event, raw
    raw = msgspec.json.encode(hidden)
    return decode_event(event_type(event), raw), raw


def encode_all(events: Sequence[Event], redactor: Redactor) -> list[tuple[Event, bytes]]:
    """Encode several events. One check finds out whether any of them has something to hide."""
    try:
        raws = [encode_event(event) for event in events]
    except (UnicodeEncodeError, OverflowError):
        return [encode(event, redactor) for event in events]
    if redactor.may_contain_key(b"\n".join(raws)):
        return [encode(event, redactor) for event in events]
    return list(zip(events, raws, strict=True))


def decode(kind: object, raw: object) -> Event:
    """Decode the event of a row. A damaged one becomes `Unknown("damaged")`, so that others can still be read."""
    if not isinstance(kind, str) or not isinstance(raw, bytes):
        return _DAMAGED
    try:
        event = decode_event(kind, raw)
        if type(event) is Unknown:
            msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _DAMAGED
    return event


def decode_known_command(body: bytes) -> Command | None:
    """Decode a command, or None if this version does not know it."""
    try:
        return decode_command(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def redact_command(body: bytes, redactor: Redactor, *, is_taken: bool = False) -> bytes:
    """Hide keys in an encoded command. A command that needs its exact text keeps it until it is taken."""
    if not redactor.may_contain_key(body):
        return body
    try:
        fields = cast("dict[str, object]", msgspec.json.decode(body))
    except BROKEN_JSON:  # from a newer version: this version does not execute it
        return body
    return body if fields.get("type") in _EXACT and not is_taken else msgspec.json.encode(redactor.event(fields))


def recorded_text(text: str) -> str:
    """Return a text as events have it: the bytes of a file name that are not UTF-8 are replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _json_value(value: object) -> object:
    """Replace what JSON cannot represent: lone surrogates (in file names that are not UTF-8), numbers above 64 bits."""
    if isinstance(value, str):
        return recorded_text(value)
    if isinstance(value, int) and not -_BIGGEST <= value < _BIGGEST:
        return str(value)
    if isinstance(value, list):
        return [_json_value(v) for v in cast("list[object]", value)]
    if isinstance(value, dict):
        return {_json_value(k): _json_value(v) for k, v in cast("dict[str, object]", value).items()}
    return value
