"""Add and remove MCP servers of the user: `mcp.json` in the config folder, and the store of their secrets."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from ...protocol import ConfigError, UserError
from ...settings.mcp_json import JsonServer, read_json_servers
from ...settings.settings import own_servers_file
from ...settings.user_folders import locked
from .private_files import secrets_of

_TABLE = "mcpServers"


class OwnServers:
    """The user's own file. Several programs may change it: none loses what another one added."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.path, self._env = own_servers_file(env), env

    def add(self, servers: Sequence[JsonServer]) -> int:
        """Add these servers, and return how many the file has now. Their secrets go into a file of their own.

        Raises UserError for a name that is taken.
        """
        with self._changing() as rows:
            for server in servers:
                if server.name in rows:
                    raise UserError(f"{self.path} has a server {server.name} already: rundry mcp remove {server.name}")
                rows[server.name] = server.row
            stored = {self._identity(server): server.secrets for server in servers if server.secrets}
            if stored:
                secrets_of(self._env).add(stored)
            return len(rows)

    def remove(self, name: str) -> bool:
        """Remove a server and its secrets. Returns whether there was one."""
        with self._changing() as rows:
            if name not in rows:
                return False
            found = [one for one in read_json_servers(json.dumps(rows)) if isinstance(one, JsonServer)]
            del rows[name]
            for one in found:
                if one.name == name:
                    secrets_of(self._env).remove(self._identity(one))
        return True

    @staticmethod
    def _identity(server: JsonServer) -> str:
        row = {**server.row, "enabled": True}
        made = msgspec.structs.replace(server, row=row).server
        assert made is not None
        return made.identity

    def _changing(self) -> _Change:
        return _Change(self.path)


class _Change:
    """Reads the file, and writes it if the block ends without an error. Other keys of the file stay."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, locked(path.with_suffix(".lock"))
        self._whole: dict[str, Any] = {}

    def __enter__(self) -> dict[str, Any]:
        try:
            self._lock.__enter__()
            text = self._path.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            text = "{}"
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{self._path} cannot be read: {error}") from error
        try:
            whole: object = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{self._path} is not JSON ({error}): correct it first") from error
        if not isinstance(whole, dict):
            raise ConfigError(f"{self._path} is not a table of servers: correct it first")
        self._whole = cast("dict[str, Any]", whole)
        rows = self._whole.setdefault(_TABLE, {})
        if not isinstance(rows, dict):
            raise ConfigError(f"{self._path}: {_TABLE} is not a table: correct it first")
        return cast("dict[str, Any]", rows)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        try:
            if kind is None:
                self._save()
        finally:
            self._lock.__exit__(None, None, None)

    def _save(self) -> None:
        fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(json.dumps(self._whole, indent=2, ensure_ascii=False) + "\n")
                file.flush()
                os.fsync(descriptor)
            fresh.replace(self._path)
        except OSError as error:
            raise ConfigError(f"{self._path} cannot be written: {error.strerror}") from error
