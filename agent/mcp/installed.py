"""Find out whether the SDK is installed, without importing it."""

from __future__ import annotations

from collections.abc import Sequence

from ..protocol import McpServer, UserError
from ..system.extras import missing_extra


def sdk_missing() -> str | None:
    """Return how to install the SDK if it is missing, as the end of a message. Its version 2 has `mcp_types`."""
    return missing_extra("mcp", "mcp", "mcp_types")


def require_sdk(servers: Sequence[McpServer]) -> None:
    """Raise UserError with how to install the SDK, if servers are configured and it is missing."""
    if servers and (missing := sdk_missing()) is not None:
        names = ", ".join(server.name for server in servers)
        raise UserError(f"[mcp.servers] {names}: the MCP SDK is not installed; {missing}")
