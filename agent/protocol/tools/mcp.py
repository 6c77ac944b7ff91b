"""MCP servers as the user configured them, and the names under which their tools are offered to a model."""

from __future__ import annotations

import hashlib
import re

import msgspec

SEPARATOR = "__"
"""Between the name of a server and the name of its tool. No tool of this program has it in its name."""
LONGEST_SERVER = 40
LONGEST_NAME = 64
"""Characters of a tool's name that all providers accept."""
_DIGITS = 8
"""Hex digits of the hash that replaces what a provider would not accept."""
_SERVER = re.compile(r"[A-Za-z][A-Za-z0-9-]*(_[A-Za-z0-9-]+)*", re.ASCII)
"""Without two `_` in a row and without one at the end, so that the first `SEPARATOR` of a tool's name ends it."""
_DOWNLOADERS = frozenset(("npx", "uvx", "bunx", "pipx", "docker", "podman", "dnx"))
"""Programs that READMEs name to fetch a server and run it."""
_OTHER = re.compile(r"[^A-Za-z0-9_-]", re.ASCII)


class McpServer(msgspec.Struct, frozen=True, kw_only=True):
    """One MCP server: a command that speaks on its standard input and output, or the URL of a server."""

    name: str
    command: str | None = None
    args: list[str] = []
    env: list[str] = []
    """Names of the variables that the command receives, or `NAME=value`. It receives no others of the user's."""
    expands: bool = False
    """Whether `${NAME}` in command, args, env and url stands for a variable, too, as in the files of other clients."""
    cwd: str | None = None
    """Folder of the command. None means the workspace."""
    url: str | None = None
    headers: dict[str, str] = {}
    """HTTP headers. `${NAME}` stands for the value of a variable, which is never stored."""
    tools: list[str] | None = None
    """The server's own names of the tools that are offered. None means all."""
    timeout: float = 60.0
    """Time limit of one call, in seconds."""
    progress_extends: bool = False
    """Whether each progress of a call starts its time limit again, up to an hour."""
    network: bool = False
    """Whether the sandboxed command may use the network."""
    write: bool = False
    """Whether the sandboxed command may write to the workspace."""

    @property
    def place(self) -> str:
        """The command line or the URL, for a person."""
        return self.url if self.url is not None else " ".join([self.command or "", *self.args])

    @property
    def identity(self) -> str:
        """Digest of what makes it the same server: its name and the place that it is reached at."""
        parts = [self.name, self.command or "", *self.args, self.cwd or "", self.url or ""]
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def downloads_program(server: McpServer) -> bool:
    """Return whether its command fetches the program in each run."""
    return (server.command or "").rpartition("/")[2] in _DOWNLOADERS


def is_server_name(name: str) -> bool:
    """Return whether it can be the name of a server: letters, digits, `-` and single `_`, at most 40."""
    return len(name) <= LONGEST_SERVER and _SERVER.fullmatch(name) is not None


def usable_server_name(name: str) -> str:
    """Return the name itself, or one like it that can be used: other characters become `-`, and a hash makes it unique.

    The words of a name with a path, such as `io.github.owner/server`, stay readable.
    """
    if is_server_name(name):
        return name
    plain = re.sub(r"_{2,}", "_", _OTHER.sub("-", name)).strip("_-")
    plain = plain if plain[:1].isalpha() else f"s-{plain}"
    digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS]
    return f"{plain[: LONGEST_SERVER - _DIGITS - 1].rstrip('_-')}-{digest}"


def offered_name(server: str, tool: str) -> str:
    """Return the name under which a server's tool is offered: `SERVER__TOOL`.

    If a provider would not accept that, other characters become `_`, and the end becomes a hash of the tool's name.
    """
    name = f"{server}{SEPARATOR}{tool}"
    plain = _OTHER.sub("_", name)
    if plain == name and tool and len(name) <= LONGEST_NAME:
        return name
    digest = hashlib.sha256(tool.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS]
    return f"{plain[: LONGEST_NAME - _DIGITS - 1]}_{digest}"


def server_of(tool: str) -> str | None:
    """Return the name of the server in the name of an offered tool, or None if it is not a tool of a server."""
    server, found, rest = tool.partition(SEPARATOR)
    return server if found and rest and is_server_name(server) else None
