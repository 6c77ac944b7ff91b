"""Check calls of tools that MCP servers offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from .mcp_drafts import McpCall
from .parse import Parsed, decode, parse_arguments

if TYPE_CHECKING:
    from ..mcp.listing import McpTool
    from ..mcp.servers import McpServers


def parse_call(name: str, raw: str, names: Sequence[str] | None, servers: McpServers) -> Parsed:
    """Check a call of a tool of this program or of an MCP server. `names`: the offered tools. Never raises."""
    tool = servers.find(name) if names is None or name in names else None
    if tool is not None:
        return _parse(tool, raw)
    if why := servers.why_not(name):
        return Parsed(error=f"{why}. Do not repeat the call: use another tool.", summary="not offered")
    return parse_arguments(name, raw, names)


def _parse(tool: McpTool, raw: str) -> Parsed:
    value, is_repaired, problem = decode(raw)
    if problem is None and not isinstance(value, dict):
        problem = "the arguments are not a JSON object"
    arguments = cast("dict[str, Any]", value)
    problem = problem or tool.problem_of(arguments)
    if problem is not None:
        return Parsed(error=f"{tool.offered}: {problem}.", raw=value, repaired=is_repaired)
    return Parsed(arguments=McpCall(tool, arguments), raw=value, repaired=is_repaired)
