"""Replace `${NAME}` in the config of a server by the values of variables, when the server is started."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...sandbox.command_environment import command_env
from ...settings.mcp_json import VARIABLE
from .failed import McpFailed

if TYPE_CHECKING:
    from ...protocol import McpServer


class Variables:
    """The values for one server. The journal never has them, because a spec holds the names."""

    def __init__(
        self, server: McpServer, env: Mapping[str, str], keys: frozenset[str], known: Mapping[str, str]
    ) -> None:
        """`known`: values that come before the person's environment: stored secrets, and names of folders.

        `keys`: variables with providers' keys, which are never passed on.
        """
        self._server, self._env, self._keys, self._known = server, env, keys, known

    def fill(self, text: str, place: str) -> str:
        """Return the text with the values. `place`: where it is written. Raises McpFailed."""
        names = [name for name, _ in VARIABLE.findall(text) if name not in self._known]
        passing = command_env(self._env, provider_key_names=self._keys, more=names)

        def value(match: re.Match[str]) -> str:
            name, default = match[1], match[2]
            if name in self._known:
                return self._known[name]
            if passing.get(name):
                return passing[name]
            if name in self._env and name not in passing:
                raise McpFailed(f"the variable {name} in its {place} may not be sent to a server")
            if default is None:
                raise McpFailed(f"the variable {name} in its {place} is not set")
            return str(default)

        return VARIABLE.sub(value, text)

    def fill_if_expanded(self, text: str, place: str) -> str:
        """Return the text with the values if the config is in the form of other clients. Raises McpFailed."""
        return self.fill(text, place) if self._server.expands else text
