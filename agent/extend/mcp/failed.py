"""The error of a server that cannot be used."""

from __future__ import annotations

from ...protocol import RundryError


class McpFailed(RundryError):
    """A server did not start, broke the protocol, sent too much, or ended. The text says which, in one line."""


class McpGone(McpFailed):
    """A server ended or closed the connection. It can be started again."""
