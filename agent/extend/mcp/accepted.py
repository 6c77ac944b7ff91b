"""Remember which tools of each server a person accepted, by digest."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ...settings.user_folders import Store, user_folder

if TYPE_CHECKING:
    from ...protocol import McpServer

Digests = Mapping[str, str]
"""Digest by the server's own name of a tool."""


class Accepted:
    """The file `mcp.json` in the user's data folder."""

    def __init__(self, path: Path | None = None, env: Mapping[str, str] | None = None) -> None:
        """`path`: of the file, instead of the usual one."""
        self._path, self._env = path, os.environ if env is None else env

    @cached_property
    def _store(self) -> Store[dict[str, str]]:
        path = self._path or user_folder("data", self._env) / "mcp.json"
        return Store(path, dict[str, str], again="accept the tools again")

    def of(self, server: McpServer) -> dict[str, str] | None:
        """Return the accepted tools of a server, or None if it was never seen before. Raises ConfigError."""
        return self._store.load().get(server.identity)

    def accept(self, server: McpServer, digests: Digests) -> None:
        """Store these tools as the accepted ones. Raises ConfigError."""
        self._store.add({server.identity: dict(digests)})
