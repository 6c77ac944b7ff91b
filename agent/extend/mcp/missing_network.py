"""Find MCP servers whose command downloads its program, but has no network in the sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...protocol.tools.mcp import downloads_program
from .private_files import place_of_server

if TYPE_CHECKING:
    from ...protocol import McpServer

_DOWNLOADS = (".npm/_npx", ".cache/uv", ".bun/install/cache", ".local/share/pipx", ".local/pipx", ".nuget/packages")
"""Where the programs keep in their home what they downloaded."""


def missing_network(server: McpServer, workspace: Path, env: Mapping[str, str]) -> str | None:
    """Return what to say about a server that needs the network for its first start and has none, or None.

    It needs none if its own home has a download already, or a folder `node_modules` of the workspace has the package.
    """
    if server.network or not downloads_program(server):
        return None
    home = place_of_server(server, workspace, env)
    if any(folder.is_dir() and any(folder.iterdir()) for folder in (home / name for name in _DOWNLOADS)):
        return None
    if _is_in_project(server, workspace):
        return None
    line = '"network": true (rundry mcp import FILE --network)' if server.expands else "network = true"
    return f"{_program(server)} has no network to download the server: write {line}, or install the server"


def _program(server: McpServer) -> str:
    return (server.command or "").rpartition("/")[2]


def _is_in_project(server: McpServer, workspace: Path) -> bool:
    """Return whether `npx` or `bunx` finds the package in the workspace."""
    if _program(server) not in ("npx", "bunx"):
        return False
    named = next((word for word in server.args if not word.startswith("-")), "")
    package = named[:1] + named[1:].partition("@")[0]  # `@scope/name@1.2` without its version
    folder = workspace / Path(server.cwd or "").expanduser()
    return bool(package) and any((place / "node_modules" / package).exists() for place in (folder, *folder.parents))
