"""What a connection needs from the client that opened it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ...protocol import McpLogin


class Peer(Protocol):
    """The other end of a connection to a server. `McpClient` implements it for runs, `NoPeer` for logins."""

    login: McpLogin
    """Whether the connection has a login."""
    roots: Sequence[Path]
    """The folders that the server may know. If there are none, it cannot ask for them."""

    def heard(self, method: str) -> None:
        """Note a request or a notification of the server, by its method."""
        ...

    async def answer(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a person's answers to a request of the server, or None if it is declined."""
        ...


class NoPeer:
    """A client that makes no calls, and offers nothing to a server."""

    def __init__(self) -> None:
        self.login: McpLogin = "none"
        self.roots: Sequence[Path] = ()

    def heard(self, method: str) -> None:
        """Do nothing: nobody has to know."""

    async def answer(self, params: Mapping[str, Any]) -> None:
        """Decline every request."""
