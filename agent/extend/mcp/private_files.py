"""Files of rundry for MCP servers, below the state folder, which only the user can read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...settings.user_folders import Store, user_folder

if TYPE_CHECKING:
    from ...protocol import McpServer

_DIGITS = 12


def secrets_of(env: Mapping[str, str]) -> Store[dict[str, str]]:
    """Return the store of secrets that `rundry mcp` moved out of a config: variables, by the server's identity."""
    return Store(user_folder("state", env) / "mcp-secrets.json", dict[str, str], again="add the servers again")


def logins_of(env: Mapping[str, str]) -> Store[dict[str, Any]]:
    """Return the store of logins: tokens and what belongs to them, by the server's identity."""
    return Store(user_folder("state", env) / "mcp-logins.json", dict[str, Any], again="log in again")


def has_login(server: McpServer, env: Mapping[str, str]) -> bool:
    """Return whether tokens of a server are stored. Raises ConfigError."""
    return server.url is not None and "tokens" in logins_of(env).load().get(server.identity, {})


def place_of_server(server: McpServer, workspace: Path, env: Mapping[str, str]) -> Path:
    """Return the path of the home of a server's command in a workspace. It may not exist."""
    whole = f"{server.identity}\0{workspace}".encode("utf-8", "surrogateescape")
    name = f"{server.name}-{hashlib.sha256(whole).hexdigest()[:_DIGITS]}"
    return user_folder("state", env) / "mcp" / name


def server_folder(server: McpServer, workspace: Path, env: Mapping[str, str]) -> Path:
    """Return the folder of a server's command in a workspace: its home, which stays between runs. Creates it."""
    folder = place_of_server(server, workspace, env)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder
