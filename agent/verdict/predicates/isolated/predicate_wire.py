"""Encode messages between the predicate's process and the worker: JSON, each after its length.

Only values of exactly the plain types are sent as values. Every other object is sent as a reference.
"""

# Values come from another process and have any type.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false

import json
import os
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath
from uuid import UUID

LONGEST = 64_000_000
PLAIN = (type(None), bool, int, float, str)
_SEQUENCES: dict[type, str] = {list: "list", tuple: "tuple", set: "set", frozenset: "frozenset"}
_TEXTS: dict[type, str] = {Decimal: "Decimal", Fraction: "Fraction", UUID: "UUID", complex: "complex"}
_TIMES: dict[type, str] = {datetime: "datetime", date: "date", time: "time"}
_MAKE: dict[str, Callable[..., object]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "Decimal": Decimal,
    "Fraction": Fraction,
    "UUID": UUID,
    "complex": complex,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "bytes": bytes.fromhex,
    "bytearray": bytearray.fromhex,
    "path": PurePath,
}


def encode(value: object, refer: Callable[[object], list[object]]) -> object:
    """Encode the value as JSON. `refer` returns a reference for an object that is not plain, or raises."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind in _SEQUENCES:
        return [_SEQUENCES[kind], [encode(one, refer) for one in value]]  # type: ignore[attr-defined]
    if isinstance(value, dict) and kind is dict:
        return ["dict", [[encode(key, refer), encode(one, refer)] for key, one in value.items()]]
    if kind in _TEXTS:
        return [_TEXTS[kind], str(value)]
    if kind in _TIMES:
        return [_TIMES[kind], value.isoformat()]  # type: ignore[attr-defined]
    if isinstance(value, timedelta) and kind is timedelta:
        return ["timedelta", [value.days, value.seconds, value.microseconds]]
    if isinstance(value, bytes | bytearray) and kind in (bytes, bytearray):
        return [kind.__name__, value.hex()]
    if isinstance(value, PurePath):
        return ["path", str(value)]
    return refer(value)


def decode_value(value: object, resolve: Callable[[list[object]], object]) -> object:
    """Decode a value to exactly a plain type. `resolve` returns the object of a reference."""
    if not isinstance(value, list):
        return value
    match value:
        case ["dict", list() as pairs]:
            return {decode_value(key, resolve): decode_value(one, resolve) for key, one in pairs}
        case ["timedelta", [int() as days, int() as seconds, int() as micros]]:
            return timedelta(days, seconds, micros)
        case [str() as kind, list() as items] if kind in _SEQUENCES.values():
            return _MAKE[kind](decode_value(one, resolve) for one in items)
        case [str() as kind, str() as text] if kind in _MAKE:
            return _MAKE[kind](text)
        case _:
            return resolve(value)


def send_frame(fd: int, message: object) -> None:
    """Write one message with its length. Raises ValueError for a message that is too long."""
    data = json.dumps(message).encode()
    if len(data) > LONGEST:
        raise ValueError(f"a message of {len(data):,} bytes is too long")
    data = len(data).to_bytes(4, "big") + data
    while data:
        data = data[os.write(fd, data) :]


def receive(fd: int) -> object:
    """Read one message. Raises EOFError if the other process has closed the connection."""
    size = int.from_bytes(_exactly(fd, 4), "big")
    if size > LONGEST:
        raise EOFError("the other process broke the protocol")
    return json.loads(_exactly(fd, size))


def _exactly(fd: int, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        piece = os.read(fd, min(size - len(found), 1 << 20))
        if not piece:
            raise EOFError("the other process closed the connection")
        found += piece
    return bytes(found)
