"""Parse the binary event stream of AWS ("Event stream encoding"): frames of headers, payload and two checksums."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import msgspec

from ..server_sent_events import LONGEST_EVENT, BrokenStream, ErrorInStream, decode

_PRELUDE = struct.Struct("!III")
"""Length of the frame, length of its headers, checksum of both."""
_LEAST = _PRELUDE.size + 4
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Number of bytes of a header's value, by type. Values of the types 6 and 7 begin with their length."""
_STATUS = {
    "accessDeniedException": 403,
    "internalServerException": 500,
    "modelNotReadyException": 429,
    "modelStreamErrorException": 424,
    "modelTimeoutException": 408,
    "resourceNotFoundException": 404,
    "serviceQuotaExceededException": 429,
    "serviceUnavailableException": 503,
    "throttlingException": 429,
    "validationException": 400,
}
"""HTTP status of each exception outside a stream (Bedrock API reference, "ConverseStream")."""


class Frame(msgspec.Struct, frozen=True):
    """One event with its headers."""

    event: str
    payload: bytes


class FrameStream:
    """Receives bytes as they arrive and yields the complete frames."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield completed frames. Raises BrokenStream for a wrong checksum, ErrorInStream for an exception frame."""
        rest = self._rest
        rest += data
        while len(rest) >= _PRELUDE.size:
            total, headers, checksum = _PRELUDE.unpack_from(rest)
            if checksum != zlib.crc32(rest[:8]) or not _LEAST + headers <= total <= LONGEST_EVENT:
                raise BrokenStream("a frame of the event stream has a wrong checksum or length")
            if len(rest) < total:
                return
            frame = bytes(rest[:total])
            del rest[:total]
            if zlib.crc32(frame[:-4]) != int.from_bytes(frame[-4:], "big"):
                raise BrokenStream("a frame of the event stream has a wrong checksum")
            start = _PRELUDE.size
            yield _frame(_headers(frame[start : start + headers]), frame[start + headers : -4])


class _Exception(msgspec.Struct):
    message: str = ""
    Message: str = ""
    originalMessage: str = ""


def _frame(headers: dict[str, str], payload: bytes) -> Frame:
    kind = headers.get(":message-type", "event")
    if kind == "event":
        return Frame(headers.get(":event-type", ""), payload)
    name = headers.get(":exception-type") or headers.get(":error-code") or kind
    message = headers.get(":error-message", "")
    if payload.startswith(b"{"):
        given = decode(payload, lambda: msgspec.json.Decoder(_Exception))
        message = given.originalMessage or given.message or given.Message or message
    error: dict[str, object] = {"message": message or name, "type": name}
    if name in _STATUS:
        error["code"] = _STATUS[name]
    raise ErrorInStream(error)


def _headers(data: bytes) -> dict[str, str]:
    """Return the text headers. Raises BrokenStream."""
    out: dict[str, str] = {}
    at = 0
    try:
        while at < len(data):
            length = data[at]
            name = data[at + 1 : at + 1 + length].decode(errors="replace")
            at += 1 + length
            kind = data[at]
            at += 1
            if kind in (6, 7):
                size = int.from_bytes(data[at : at + 2], "big")
                at += 2
            else:
                size = _SIZES[kind]
            if kind == 7:
                out[name] = data[at : at + size].decode(errors="replace")
            at += size
    except (IndexError, KeyError) as e:
        raise BrokenStream("a frame of the event stream has headers that cannot be read") from e
    return out
