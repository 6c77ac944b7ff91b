"""Parse the tables `[mcp.servers.NAME]`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import cast
from urllib.parse import urlsplit

from ..host.internet import is_this_machine
from ..protocol import McpServer, UserError
from ..protocol.tools.mcp import is_server_name
from .option_values import parse_duration
from .value_schema import ADDRESS, DURATION, FLAG, LINE, schema_of, table, takes

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", re.ASCII)
SECRET_HEADER = re.compile(r"authorization|cookie|.*(key|token|secret).*", re.IGNORECASE)
SECRET_NAME = re.compile(r".*(auth|credential|key|passw|secret|token).*", re.IGNORECASE)
"""Names of variables and options whose values are secrets."""
_LONGEST_SECONDS = 3_600.0
_STDIO = ("command", "args", "env", "cwd", "network", "write")
"""Keys of a server with a command alone."""
_HTTP = ("url", "headers")


def read_servers(value: object, now: float) -> list[McpServer]:
    """Parse the table of servers. Servers with `enabled = false` are left out. Raises UserError."""
    del now
    if not isinstance(value, dict):
        raise UserError(f"{value!r} is not a table: write [mcp.servers.NAME]")
    servers = [_server(name, row) for name, row in cast("dict[str, object]", value).items()]
    return [server for server in servers if server is not None]


def _server(name: str, row: object) -> McpServer | None:
    if not is_server_name(name):
        raise UserError(
            f"{name!r} is not a name of a server: use up to 40 letters, digits, - and single _, a letter first"
        )
    try:
        return read_server(name, row)
    except UserError as error:
        raise UserError(f"{name}: {error}") from error


def read_server(name: str, row: object) -> McpServer | None:
    """Read the table of one server, or None if it is not enabled. Raises UserError without its name."""
    if not isinstance(row, dict):
        raise UserError(f'{row!r} is not a table: write command = "PROGRAM" or url = "https://..."')
    table = cast("dict[str, object]", row)
    if unknown := next((key for key in table if key not in _FIELDS and key != "enabled"), None):
        raise UserError(f"unknown key {unknown!r}: use {', '.join((*_FIELDS, 'enabled'))}")
    if ("command" in table) == ("url" in table):
        raise UserError("a server has either a command or a url: write exactly one")
    kind, others = ("command", _HTTP) if "command" in table else ("url", _STDIO)
    if wrong := next((key for key in others if key in table), None):
        raise UserError(f"a server with a {kind} cannot have {wrong}: remove it")
    fields = {key: _FIELDS[key](given) for key, given in table.items() if key in _FIELDS}
    is_enabled = _flag(table.get("enabled", True))
    return McpServer(name=name, **fields) if is_enabled else None  # type: ignore[arg-type]


@takes(LINE)
def _text(value: object) -> str:
    if isinstance(value, str) and value.strip() and value.isprintable():
        return value.strip()
    raise UserError(f"{value!r} is not a text in one line: write it in quotes")


@takes({"type": "string"})
def _argument(value: object) -> str:
    if isinstance(value, str) and "\0" not in value:
        return value
    raise UserError(f"{value!r} is not a text: write it in quotes")


def _list(read: Callable[[object], str]) -> Callable[[object], list[str]]:
    @takes({"type": "array", "items": schema_of(read)})
    def read_all(value: object) -> list[str]:
        if not isinstance(value, list):
            raise UserError(f"{value!r} is not a list: write it in brackets")
        return [read(one) for one in cast("list[object]", value)]

    return read_all


@takes({"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*(=|$)"})
def _variable(value: object) -> str:
    text = _argument(value)
    name, is_set, _ = text.partition("=")
    if is_set and SECRET_NAME.fullmatch(name):
        raise UserError(f"{name} holds a secret: write its name alone, and set the variable where you start rundry")
    if _VARIABLE.fullmatch(name):
        return text
    raise UserError(f'{value!r} is not a variable: write its name, such as "GITHUB_TOKEN", or "NAME=value"')


@takes(FLAG)
def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise UserError(f"{value!r} is neither true nor false")


@takes({"anyOf": [{"type": "number", "minimum": 1, "maximum": _LONGEST_SECONDS}, DURATION]})
def _seconds(value: object) -> float:
    seconds = parse_duration(value) if isinstance(value, str) else value
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 1 <= seconds <= _LONGEST_SECONDS:
        raise UserError(f"{value!r} is not a time limit: write seconds from 1 to {_LONGEST_SECONDS:g}")
    return float(seconds)


@takes(ADDRESS)
def read_url(value: object) -> str:
    """Return the address of a server: `https://`, or `http://` on this machine. Raises UserError."""
    url = _text(value)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise UserError(f"{value!r} is not a URL: write it like https://example.org/mcp") from None
    del port
    if parts.scheme not in ("http", "https") or not host or " " in url:
        raise UserError(f"{value!r} is not a URL: write it like https://example.org/mcp")
    if parts.username or parts.password:
        raise UserError(f"the URL of {host} has a user name or a password: use headers")
    if parts.scheme == "http" and not is_this_machine(host):
        raise UserError(f"{value!r} is not encrypted: write https://, except for a server on this machine")
    return url


@takes({"type": "object", "propertyNames": {"pattern": f"^{_HEADER.pattern}$"}, "additionalProperties": LINE})
def _headers(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise UserError(f"{value!r} is not a table of headers")
    found = {name: _text(text) for name, text in cast("Mapping[str, object]", value).items()}
    for name, text in found.items():
        if not _HEADER.fullmatch(name):
            raise UserError(f"{name!r} is not the name of a header")
        if SECRET_HEADER.fullmatch(name) and "${" not in text:
            raise UserError(f"the header {name} holds a secret: name a variable instead, such as ${{MY_TOKEN}}")
    return found


_FIELDS: dict[str, Callable[[object], object]] = {
    "command": _text,
    "args": _list(_argument),
    "env": _list(_variable),
    "cwd": _text,
    "url": read_url,
    "headers": _headers,
    "tools": _list(_text),
    "timeout": _seconds,
    "progress_extends": _flag,
    "network": _flag,
    "write": _flag,
}
_SERVER = {
    **table({name: schema_of(read) for name, read in _FIELDS.items()} | {"enabled": FLAG}),
    "oneOf": [
        {"required": ["command"], "properties": dict.fromkeys(_HTTP, False)},
        {"required": ["url"], "properties": dict.fromkeys(_STDIO, False)},
    ],
}
takes({"type": "object", "additionalProperties": _SERVER})(read_servers)
