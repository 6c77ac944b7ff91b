"""Calls of tools of MCP servers at the gate."""
