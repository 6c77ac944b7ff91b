"""Connect to MCP servers, list their tools, and call them."""

from .accepted import Accepted
from .client import McpClient
from .connect import client_of
from .failed import McpFailed
from .installed import require_sdk
from .listing import Listing, McpTool, read_listing
from .results import CallText
from .servers import ListChange, McpServers

__all__ = [
    "Accepted",
    "CallText",
    "ListChange",
    "Listing",
    "McpClient",
    "McpFailed",
    "McpServers",
    "McpTool",
    "client_of",
    "read_listing",
    "require_sdk",
]
