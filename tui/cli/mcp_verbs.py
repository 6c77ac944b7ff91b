"""Carry out `rundry mcp add`, `import`, `list`, `remove`, `login` and `logout`. Does not import textual."""

from __future__ import annotations

import asyncio
import os
import sys
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rundry.agent import (
    PROJECT_SERVERS,
    JsonServer,
    McpServer,
    OwnServers,
    UserError,
    load_settings,
    log_in,
    log_out,
    mcp_sdk_missing,
    missing_network,
    plural,
    read_json_servers,
)

from ..text.json_out import print_json
from ..text.show_text import one_line, show

VERBS = {
    "add": ("NAME -- COMMAND [ARG...] | NAME URL", "Add a server to your own file."),
    "import": ("FILE|-", "Add the servers of a JSON text, such as that of a README."),
    "list": ("", "List the servers of this folder, without starting them."),
    "remove": ("NAME", "Remove a server from your own file."),
    "login": ("NAME", "Log in to a server that wants it, in your browser."),
    "logout": ("NAME", "Forget the login of a server."),
}
"""What follows each verb, and what it does."""
_LARGEST = 1_000_000


def carry_out(words: Sequence[str], flags: Mapping[str, Any]) -> int:
    """Carry out a verb with its arguments. Return the exit code. Raises RundryError."""
    verb, *rest = words
    known: dict[str, Callable[[Sequence[str], Mapping[str, Any]], int]] = {
        "add": _add,
        "import": _import,
        "list": _list,
        "remove": _remove,
        "login": _login,
        "logout": _logout,
    }
    if verb not in known:
        raise UserError(f"rundry mcp {verb}: use {', '.join(VERBS)}, or no word to serve runs to a client")
    return known[verb](rest, flags)


def _add(words: Sequence[str], flags: Mapping[str, Any]) -> int:
    if len(words) < 2:
        raise UserError("name the server and its command or address: rundry mcp add NAME -- COMMAND [ARG...]")
    name, first, *more = words
    is_address = flags["transport"] == "http" or (flags["transport"] is None and first.startswith(("https:", "http:")))
    if is_address and more:
        raise UserError(f"{more[0]!r} follows the address: a server with an address has no arguments")
    row: dict[str, Any] = {"url": first} if is_address else {"command": first, "args": more}
    if env := _pairs(flags["env"], "=", "--env"):
        row["env"] = env
    if headers := _pairs(flags["header"], ":", "--header"):
        row["headers"] = headers
    return _store(read_json_servers(msgspec.json.encode({"mcpServers": {name: row}}).decode()), flags)


def _import(words: Sequence[str], flags: Mapping[str, Any]) -> int:
    if len(words) != 1:
        raise UserError("name one file, or - for standard input: rundry mcp import FILE")
    if flags["env"] or flags["header"] or flags["transport"]:
        raise UserError("rundry mcp import: --env, --header and --transport are for add; write them in the JSON")
    try:
        data = sys.stdin.buffer.read(_LARGEST + 1) if words[0] == "-" else Path(words[0]).read_bytes()
    except OSError as error:
        raise UserError(f"{words[0]} cannot be read: {error.strerror}") from None
    if len(data) > _LARGEST:
        raise UserError(f"{words[0]} is too large for a list of servers: at most {_LARGEST:,} bytes")
    try:
        return _store(read_json_servers(data.decode("utf-8-sig")), flags)
    except UnicodeDecodeError:
        raise UserError(f"{words[0]} is not UTF-8") from None


def _store(found: Sequence[JsonServer | str], flags: Mapping[str, Any]) -> int:
    """Add the servers that can be used, and say what was done with each. Nothing is added if none can be used."""
    rights = {key: True for key in ("network", "write") if flags[key]}
    servers = [_with_rights(one, rights) for one in found if isinstance(one, JsonServer)]
    refused = [one for one in found if isinstance(one, str)]
    if not servers:
        raise UserError(f"no server was added: {'; '.join(refused)}")
    own = OwnServers(os.environ)
    count = own.add(servers)
    for server in servers:
        _say(f"added {server.name}: {_place(server)}")
        for note in server.notes:
            _say(f"  {note}")
        if server.secrets:
            names = ", ".join(f"${{{name}}}" for name in server.secrets)
            _say(f"  its secret is in a file that only you can read, and {own.path.name} has {names} instead")
        for name in server.unset:
            _say(f"  set the variable {name} where you start rundry: the text has a placeholder")
        made = server.server
        if made is not None and (missing := missing_network(made, Path.cwd(), os.environ)) is not None:
            _say(f"  {missing}")
    for line in refused:
        print(one_line(f"rundry: not added: {line}"), file=sys.stderr)
    _say(f"{plural(count, 'server')} in {own.path}")
    if (how := mcp_sdk_missing()) is not None:
        _say(f"!  no server can be used yet: the MCP SDK is not installed; {how}")
    return 1 if refused else 0


def _with_rights(server: JsonServer, rights: Mapping[str, bool]) -> JsonServer:
    if "command" not in server.row:
        return server
    return msgspec.structs.replace(server, row={**server.row, **rights})


def _list(words: Sequence[str], flags: Mapping[str, Any]) -> int:
    if words:
        raise UserError("rundry mcp list takes no names")
    from ..start.connected import surroundings_of
    from ..start.new_run import Setup

    setup = Setup({}, headless=True, begins=False)
    rows = surroundings_of(setup).servers
    if flags["as_json"]:
        print_json({"servers": rows, "notes": setup.settings.notes})
        return 0
    for row in rows:
        _say(f"{row.name}: {row.place}  ({row.state})")
    for note in setup.settings.notes:
        _say(f"!  {note}")
    if not rows and not any(note.startswith(("not used of ", "ignored ")) for note in setup.settings.notes):
        _say(f"no servers: add one with rundry mcp add, or in {PROJECT_SERVERS}")
    return 0


def _remove(words: Sequence[str], flags: Mapping[str, Any]) -> int:
    del flags
    if len(words) != 1:
        raise UserError("name one server: rundry mcp remove NAME")
    own = OwnServers(os.environ)
    if not own.remove(words[0]):
        others = load_settings({}, cwd=Path.cwd(), env=os.environ, trust=True).mcp
        where = "it is in another config file" if words[0] in [one.name for one in others] else "see rundry mcp list"
        raise UserError(f"{own.path} has no server {words[0]}: {where}")
    _say(f"removed {words[0]} from {own.path}")
    return 0


def _login(words: Sequence[str], flags: Mapping[str, Any]) -> int:
    server = _named(words, "login")
    if (missing := mcp_sdk_missing()) is not None:
        raise UserError(f"rundry mcp login: the MCP SDK is not installed; {missing}")
    opens = not flags["no_browser"] and _has_browser()

    async def announce(address: str) -> None:
        print(f"Open this address to log in to {server.name}:\n{show(address)}", flush=True)
        if opens:
            await asyncio.to_thread(webbrowser.open, address)

    try:
        is_new = asyncio.run(log_in(server, os.environ, announce))
    except KeyboardInterrupt:
        return 130
    _say(f"logged in to {server.name}" if is_new else f"{server.name} answers without a login")
    return 0


def _logout(words: Sequence[str], flags: Mapping[str, Any]) -> int:
    del flags
    server = _named(words, "logout")
    had_any = log_out(server, os.environ)
    _say(f"forgot the login of {server.name}" if had_any else f"there was no login of {server.name}")
    return 0


def _named(words: Sequence[str], verb: str) -> McpServer:
    """Return the server with an address that is named. Raises UserError."""
    if len(words) != 1:
        raise UserError(f"name one server: rundry mcp {verb} NAME")
    known = load_settings({}, cwd=Path.cwd(), env=os.environ, trust=False).mcp
    found = next((one for one in known if one.name == words[0]), None)
    if found is None:
        raise UserError(f"there is no server {words[0]}: see rundry mcp list")
    if found.url is None:
        raise UserError(f"{found.name} is a command: only a server with an address has a login")
    return found


def _has_browser() -> bool:
    """Return whether a browser can open next to this terminal; one in the terminal would take it over."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))


def _pairs(given: Sequence[str], separator: str, option: str) -> dict[str, str]:
    """Return names and values. A name alone in `--env` stands for the variable of this name."""
    pairs: dict[str, str] = {}
    for one in given:
        name, found, value = one.partition(separator)
        if not found and option == "--env":
            value = f"${{{name}}}"
        elif not found:
            raise UserError(f"{option} {one!r}: write NAME{separator} VALUE")
        pairs[name.strip()] = value.strip()
    return pairs


def _place(server: JsonServer) -> str:
    made: McpServer | None = server.server
    return made.place if made is not None else "it is not enabled"


def _say(line: str) -> None:
    print(one_line(line))
