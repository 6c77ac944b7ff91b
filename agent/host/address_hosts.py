"""Parse the entries of a host list, and the `host:port` of a server that a command requests."""

from __future__ import annotations

import re
from typing import NamedTuple

_NAME = r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_ENTRY = re.compile(rf"(?P<any>\*\.)?(?P<host>{_NAME}|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{{1,5}}))?")
_AUTHORITY = re.compile(rf"(?P<host>{_NAME}|\[[0-9a-f:.]+\])\.?(?::(?P<port>[0-9]{{1,5}}))?")
_LONGEST = 253
"""Maximum number of characters of a host name (RFC 1035)."""


class Target(NamedTuple):
    """The host and port that a command wants to connect to."""

    host: str
    """In lower case, without a final dot and without brackets."""
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def read_target(authority: str, usual_port: int | None = None) -> Target | None:
    """Parse `host:port`, with `usual_port` if the port is missing. Returns None if the text is not of this form."""
    found = _AUTHORITY.fullmatch(authority.lower())
    if found is None or len(found["host"]) > _LONGEST:
        return None
    port = int(found["port"]) if found["port"] is not None else usual_port
    return Target(found["host"].strip("[]"), port) if port is not None and 0 < port < 1 << 16 else None


def read_host(text: str) -> str:
    """Return the canonical form of a host list entry: stripped and in lower case. Raises ValueError."""
    entry = text.strip().lower()
    found = _ENTRY.fullmatch(entry)
    is_wide = found is not None and found["any"] is not None and "." not in found["host"]
    if found is None or len(found["host"]) > _LONGEST or is_wide or not 0 < int(found["port"] or 1) < 1 << 16:
        raise ValueError(f'{text!r} is not a host: write a name like "pypi.org", "*.npmjs.org" or "example.org:8443"')
    return entry


def split_host(entry: str) -> tuple[bool, str, int | None]:
    """Return whether a canonical entry includes all subdomains, the name without brackets, and the port if any."""
    found = _ENTRY.fullmatch(entry)
    assert found is not None
    return found["any"] is not None, found["host"].strip("[]"), int(found["port"]) if found["port"] else None
