"""Connect to MCP servers, list their tools, and call them."""
