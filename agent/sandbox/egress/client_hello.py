"""Check which server a TLS client asks for (RFC 8446, 4.1.2; RFC 6066, 3). No bytes make these functions raise.

One address of a content delivery network serves many hosts, and the server name of the ClientHello selects one of them.
So a tunnel to a listed host could reach any other host of the same network, unless that name is compared.

Encrypted Client Hello (RFC 9849) is refused. The server name outside the encryption is then the public name of the
provider, or any name that the client likes, and the one inside is used. A client that only pretends to encrypt (GREASE)
cannot be told apart, which is the purpose of GREASE. curl, git, pip, npm, cargo and Go do not send it unless they are
asked to; browsers do unless a setting turns it off.
"""

from __future__ import annotations

import re

_CLIENT_HELLO = 1
_SERVER_NAME, _HOST_NAME = 0, 0
_ENCRYPTED = frozenset({*range(0xFE08, 0xFE0E), 0xFFCE})
"""The extensions of Encrypted Client Hello (0xfe0d) and of its drafts."""
_PLAIN_NAME = re.compile(rb"[A-Za-z0-9_.:-]{1,255}")
_UNREADABLE = "its TLS ClientHello cannot be read"


def message_length(start: bytes) -> int | None:
    """Return the number of bytes of the handshake message that starts so, or None if more bytes are needed."""
    return 4 + int.from_bytes(start[1:4], "big") if len(start) >= 4 else None


def hello_problem(message: bytes, host: str, *, is_address: bool) -> str | None:
    """Return why this ClientHello does not belong in a tunnel to the host, or None if it belongs.

    `host`: in lower case, without a final dot, international names as A-labels. `is_address`: no name is required.
    """
    try:
        extensions = _extensions(message)
        name = _server_name(extensions.get(_SERVER_NAME))
    except _Damaged:
        return _UNREADABLE
    if not _ENCRYPTED.isdisjoint(extensions):
        return "its TLS hides the server name (Encrypted Client Hello), which the client must turn off"
    if name is None:
        return None if is_address else "its TLS names no server (SNI)"
    return None if name == host else f"its TLS asks for {name}"


class _Damaged(Exception):
    """The bytes are not what the RFC prescribes."""


class _Bytes:
    """Bytes that are taken from the front."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, count: int) -> bytes:
        found = self._data[self._at : self._at + count]
        if len(found) < count:
            raise _Damaged
        self._at += count
        return found

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big")

    def vector(self, width: int) -> bytes:
        """Return the bytes after a length of this width."""
        return self.take(self.number(width))

    def is_left(self) -> bool:
        return self._at < len(self._data)


def _extensions(message: bytes) -> dict[int, bytes]:
    hello = _Bytes(message)
    if hello.number(1) != _CLIENT_HELLO or hello.number(3) != len(message) - 4:
        raise _Damaged
    hello.take(2 + 32)  # version, random
    for width in (1, 2, 1):  # session, cipher suites, compression methods
        hello.vector(width)
    extensions = _Bytes(hello.vector(2) if hello.is_left() else b"")
    found: dict[int, bytes] = {}
    while extensions.is_left():
        kind, content = extensions.number(2), extensions.vector(2)
        if kind in found:  # two parsers could use different ones
            raise _Damaged
        found[kind] = content
    if hello.is_left():
        raise _Damaged
    return found


def _server_name(content: bytes | None) -> str | None:
    """Return the name in lower case, without a final dot. There may be only one."""
    if content is None:
        return None
    outer = _Bytes(content)
    names = _Bytes(outer.vector(2))
    kind, name = names.number(1), names.vector(2)
    if kind != _HOST_NAME or names.is_left() or outer.is_left() or not _PLAIN_NAME.fullmatch(name):
        raise _Damaged
    return name.decode("ascii").lower().removesuffix(".")
