"""Remember which tools of each server a person accepted, by digest."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ..config.folders import user_folder
from ..protocol import ConfigError, McpServer
from ..protocol.text.broken_json import BROKEN_JSON

Digests = Mapping[str, str]
"""Digest by the server's own name of a tool."""


class Accepted:
    """The file `mcp.json` in the user's data folder."""

    def __init__(self, path: Path | None = None, env: Mapping[str, str] | None = None) -> None:
        """`path`: of the file, instead of the usual one."""
        self._path, self._env = path, os.environ if env is None else env

    @property
    def path(self) -> Path:
        """Return where the file is."""
        return self._path or user_folder("data", self._env) / "mcp.json"

    def of(self, server: McpServer) -> dict[str, str] | None:
        """Return the accepted tools of a server; None: it was never seen before. Raises ConfigError."""
        return self._load().get(server.identity)

    def accept(self, server: McpServer, digests: Digests) -> None:
        """Store these tools as the accepted ones. Raises ConfigError."""
        try:
            path = self.path
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh = path.with_name(f"{path.name}.{os.getpid()}")
            fresh.write_bytes(msgspec.json.encode({**self._load(), server.identity: dict(digests)}))
            fresh.chmod(0o600)
            fresh.replace(path)
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error.strerror}") from error

    def _load(self) -> dict[str, dict[str, str]]:
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=dict[str, dict[str, str]])
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be read: {error.strerror}") from error
        except BROKEN_JSON as error:
            raise ConfigError(f"{self.path} is damaged ({error}): delete it, then accept the tools again") from error
