"""Read MCP servers from JSON, as their READMEs and other clients write them.

Known forms: `mcpServers` (Claude, Cursor, Windsurf, Cline, Gemini), `servers` and `mcp.servers` (VS Code),
`context_servers` (Zed), or the table of the servers itself, also without the outer braces and with comments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from ..protocol import McpServer, UserError
from ..protocol.tools.mcp import usable_server_name
from .mcp_tables import SECRET_HEADER, SECRET_NAME, read_server

SERVERS_FILE = "mcp.json"
"""The user's own file of servers, next to `config.toml`."""
_KEYS = ("mcpServers", "servers", "context_servers")
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', re.DOTALL)
_FENCE = re.compile(r"^\s*```.*$", re.MULTILINE)
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
"""`${NAME}` or `${NAME:-default}`."""
_OF_EDITORS = re.compile(r"\$\{(env|input):([^}]+)\}")
"""How VS Code and Cursor write a variable, and an input of the person."""
_PLACEHOLDER = re.compile(r"<.*>|.*\byour[-_ ].*|.*\.\.\..*|x{3,}", re.IGNORECASE)
_SECRET_OPTION = re.compile(r"--?([a-z0-9-]*(?:auth|key|passw|secret|token)[a-z0-9-]*)(?:=(.*))?", re.IGNORECASE)
_PASSWORD_IN_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^/@\s:]*:[^/@\s]+@", re.IGNORECASE)
_OTHER_NAMES = {
    "environment": "env",
    "serverUrl": "url",
    "httpUrl": "url",
    "uri": "url",
    "requestInit": "headers",
}
_SAME = (
    *("command", "args", "env", "cwd", "url", "headers", "tools", "timeout", "progress_extends", "network", "write"),
    "enabled",
)
_NO_MEANING = frozenset(
    (
        "type",
        "transport",
        "disabled",
        "description",
        "name",
        "title",
        "version",
        "gallery",
        "icon",
        "source",
        "id",
        "dev",
    )
)
_APPROVALS = ("alwaysAllow", "autoApprove", "trust", "allow")
_COMMAND_KINDS = frozenset(("stdio", "local"))
_HTTP_KINDS = frozenset(("http", "https", "streamable-http", "streamablehttp", "streamable_http", "remote"))
_LONGEST_SECONDS = 3_600
_SOME_HOST = "https://variable.invalid"


class JsonServer(msgspec.Struct, frozen=True, kw_only=True):
    """One server of a JSON text, in the keys of `[mcp.servers.NAME]`. Secrets are replaced by variables."""

    name: str
    row: dict[str, Any]
    secrets: dict[str, str] = {}
    """The secrets that the text contains, by the variable that stands for each."""
    unset: list[str] = []
    """Variables that stand for a placeholder, such as `<YOUR_TOKEN>`."""
    notes: list[str] = []
    """What the text says and has no effect, one line each."""

    @property
    def server(self) -> McpServer | None:
        """The server, or None if it is not enabled. Raises UserError."""
        row = {key: value for key, value in self.row.items() if key != "env"}
        url = row.get("url")
        if isinstance(url, str):  # it is checked again when its variables have values
            row["url"] = VARIABLE.sub(lambda match: match[2] or _SOME_HOST, url)
        made = read_server(self.name, row)
        if made is None:
            return None
        made = msgspec.structs.replace(made, url=url)
        env = [f"{name}={value}" for name, value in cast("dict[str, str]", self.row.get("env", {})).items()]
        return msgspec.structs.replace(made, env=env, expands=True)


def read_json_servers(text: str) -> list[JsonServer | str]:
    """Return each server of the text, or why it cannot be used, in a line with its name. Raises UserError."""
    found: list[JsonServer | str] = []
    taken: set[str] = set()
    for given, row in _servers_of(_parsed(text)).items():
        name = usable_server_name(given)
        try:
            if name in taken:
                raise UserError(f"another server has the name {name}, too")
            server = _Reader(name, given).read(row)
            _ = server.server
        except UserError as error:
            found.append(f"{_shown(given)}: {error}")
        else:
            taken.add(name)
            found.append(server)
    return found


def _parsed(text: str) -> object:
    """Return the JSON. A code fence, comments, last commas and missing outer braces are accepted.

    They become blanks, so that an error names the line and column of the text.
    """
    plain = _FENCE.sub(_blanks, text.removeprefix("\ufeff"))
    plain = _LAST_COMMA.sub(_but_strings, _COMMENT.sub(_but_strings, plain)).rstrip()
    try:
        try:
            return json.loads(plain)
        except ValueError as error:
            try:
                return json.loads(f"{{{plain.rstrip(',')}}}")
            except ValueError:
                raise UserError(f"it is not JSON: {_place(error)}") from None
    except RecursionError:
        raise UserError("it is nested too deeply") from None


def _place(error: ValueError) -> str:
    """Return what is wrong with a text that is not JSON, and where."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} in line {error.lineno}, column {error.colno}"
    return str(error)


def _blanks(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _but_strings(match: re.Match[str]) -> str:
    return match[1] or _blanks(match)


def _servers_of(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise UserError('it is not a table of servers: write {"mcpServers": {"NAME": {"command": "..."}}}')
    table = cast("dict[str, object]", value)
    inner = table.get("mcp")
    for place in (table, cast("dict[str, object]", inner) if isinstance(inner, dict) else {}):
        for key in _KEYS:
            if isinstance(place.get(key), dict):
                return cast("dict[str, object]", place[key])
    if "command" in table or "url" in table:
        raise UserError('the server has no name: write {"NAME": {...}}')
    if table and all(isinstance(row, dict) for row in table.values()):
        return table
    raise UserError('it has no "mcpServers"')


class _Reader:
    """Reads the row of one server."""

    def __init__(self, name: str, given: str) -> None:
        self._name = name
        self._secrets: dict[str, str] = {}
        self._unset: list[str] = []
        self._notes = [] if name == given else [f"{_shown(given)} has the name {name} here"]

    def read(self, value: object) -> JsonServer:
        """Return the server. Raises UserError."""
        if not isinstance(value, dict):
            raise UserError("it is not a table")
        row = {_OTHER_NAMES.get(key, key): one for key, one in cast("dict[str, object]", value).items()}
        self._check_kind(row)
        fields: dict[str, Any] = {key: row[key] for key in _SAME if key in row}
        self._note_others(row)
        if row.get("disabled") is True:
            fields["enabled"] = False
        if isinstance(command := fields.get("command"), list):
            words = [str(word) for word in cast("list[object]", command)]
            fields["command"], fields["args"] = words[0] if words else "", [*words[1:], *fields.get("args", [])]
        if fields.get("tools") == ["*"]:
            del fields["tools"]
        if isinstance(seconds := fields.get("timeout"), int) and seconds > _LONGEST_SECONDS:
            fields["timeout"] = seconds / 1000  # several clients count in milliseconds
        fields |= self._with_variables(fields)
        return JsonServer(name=self._name, row=fields, secrets=self._secrets, unset=self._unset, notes=self._notes)

    def _check_kind(self, row: Mapping[str, object]) -> None:
        kind = row.get("type", row.get("transport"))
        if kind is None or not isinstance(kind, str):
            return
        if kind.lower() == "sse":
            raise UserError("the transport sse is not supported: use the server's address for streamable HTTP")
        if kind.lower() not in _COMMAND_KINDS | _HTTP_KINDS:
            raise UserError(f"the type {kind!r} is not known: write stdio or http")
        needed = "command" if kind.lower() in _COMMAND_KINDS else "url"
        if needed not in row:
            raise UserError(f"a server of the type {kind} needs a {needed}")

    def _note_others(self, row: Mapping[str, object]) -> None:
        if "envFile" in row:
            raise UserError("envFile is not read: list its variables in env, and set them where you start rundry")
        for key in row:
            if key in _APPROVALS:
                self._notes.append(f"{self._name}: {key} has no effect; rules of the gate allow calls")
            elif key not in _SAME and key not in _NO_MEANING:
                self._notes.append(f"{self._name}: {_shown(key)} has no effect")

    def _with_variables(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields whose texts may contain variables and secrets."""
        made: dict[str, Any] = {}
        for key in ("command", "cwd", "url"):
            if isinstance(fields.get(key), str):
                made[key] = self._without_password(_plain(fields[key]), key)
        if isinstance(fields.get("args"), list):
            made["args"] = list(self._args([_plain(str(one)) for one in fields["args"]]))
        for key, secret in (("env", SECRET_NAME), ("headers", SECRET_HEADER)):
            given = fields.get(key)
            if given is None:
                continue
            if not isinstance(given, dict):
                raise UserError(f"{key} is not a table")
            texts = {str(name): _text(value) for name, value in cast("dict[str, object]", given).items()}
            made[key] = {
                name: self._hidden(name, value) if secret.fullmatch(name) else self._without_password(value, name)
                for name, value in texts.items()
            }
        return made

    def _args(self, args: list[str]) -> Iterator[str]:
        """Yield the arguments. `--api-key VALUE` and `--api-key=VALUE` get a variable."""
        option: str | None = None
        for arg in args:
            match = _SECRET_OPTION.fullmatch(arg)
            if option is not None and match is None and not arg.startswith("-"):
                yield self._hidden(option, arg)
            elif match is not None and match[2]:
                yield f"{arg.partition('=')[0]}={self._hidden(match[1], match[2])}"
            else:
                yield self._without_password(arg, "URL")
            option = match[1] if match is not None and match[2] is None else None

    def _without_password(self, value: str, name: str) -> str:
        return self._hidden(name, value) if _PASSWORD_IN_URL.match(value) and "${" not in value else value

    def _hidden(self, name: str, value: str) -> str:
        """Return the variable that stands for a secret, or the value if it only names variables."""
        if not VARIABLE.sub("", value).removeprefix("Bearer").strip() and _has_no_default(value):
            return value
        variable = re.sub(r"\W", "_", name, flags=re.ASCII).upper().strip("_") or "SECRET"
        if _PLACEHOLDER.fullmatch(value):
            self._unset.append(variable)
            return f"Bearer ${{{variable}}}" if value.startswith("Bearer ") else f"${{{variable}}}"
        self._secrets[variable] = value
        return f"${{{variable}}}"


def _has_no_default(value: str) -> bool:
    return all(not default for _, default in VARIABLE.findall(value))


def _plain(value: str) -> str:
    """Return the text with variables of editors in the usual form."""

    def named(match: re.Match[str]) -> str:
        name = re.sub(r"\W", "_", match[2], flags=re.ASCII)
        return f"${{{name.upper() if match[1] == 'input' else name}}}"

    return _OF_EDITORS.sub(named, value)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return _plain(str(value))
    raise UserError(f"{value!r} is not a text")


def _shown(name: str) -> str:
    return repr(name[:60])
