"""Find out whether the SDK is installed, without importing it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from ..protocol import McpServer, UserError

INSTALL = "pip install 'rundry[mcp]'"


def require_sdk(servers: Sequence[McpServer]) -> None:
    """Raise UserError if servers are configured and the SDK is missing. Its version 2 has the package `mcp_types`."""
    if servers and (find_spec("mcp") is None or find_spec("mcp_types") is None):
        names = ", ".join(server.name for server in servers)
        raise UserError(f"[mcp.servers] {names}: MCP servers need a package that is not installed: run {INSTALL}")
