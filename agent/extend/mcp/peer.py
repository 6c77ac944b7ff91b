"""What a connection needs from the client that opened it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ...protocol import McpLogin


class Peer(Protocol):
    """The other end of a connection to a server. `McpClient` implements it for runs, `NoPeer` for logins."""

    login: McpLogin
    """Whether the connection has a login."""

    def heard(self, method: str) -> None:
        """Note a request or a notification of the server, by its method."""
        ...


class NoPeer:
    """A client that makes no calls, and offers nothing to a server."""

    def __init__(self) -> None:
        self.login: McpLogin = "none"

    def heard(self, method: str) -> None:
        """Do nothing: nobody has to know."""
