"""Make the servers of a run from its spec: sandboxed commands with a private home, and connections over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ...protocol import UserError
from ...sandbox.command_access import Access, programs_of_user
from ...sandbox.command_environment import command_env
from ...settings.mcp_tables import read_url
from .client import Connect, McpClient
from .failed import McpFailed, McpGone
from .fill_variables import Variables
from .missing_network import missing_network
from .private_files import has_login, logins_of, secrets_of, server_folder
from .process import ServerProcess

if TYPE_CHECKING:
    from ...protocol import McpServer
    from ...sandbox.sandbox import Sandbox
    from .peer import Peer
    from .sdk import Session
    from .traffic import Traffic

_USUAL = ("PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TERM", "NO_COLOR", "CI")


def client_of(
    server: McpServer,
    sandbox: Sandbox,
    workspace: Path,
    env: Mapping[str, str],
    key_names: Iterable[str],
    live: Sequence[Path] = (),
) -> McpClient:
    """Return the client of a server, not started. `key_names`: variables with provider keys, which it never gets.

    `live`: folders of the workspace that it can write although the rest is read-only for it.
    """
    keys = frozenset(key_names)
    if server.url is not None:
        return McpClient(server, _http(server, env, keys))
    held = sandbox.for_server()
    may_write = server.write or held.kind is None
    outputs = ["."] if may_write else [place.relative_to(workspace).as_posix() for place in live]
    missing = None if held.network else missing_network(server, workspace, env)
    return McpClient(
        server,
        _stdio(server, held, workspace, env, keys, live),
        may_write=may_write,
        outputs=outputs,
        roots=[workspace],
        missing=missing or "",
    )


def _environment(server: McpServer, env: Mapping[str, str], keys: frozenset[str], own: Variables) -> dict[str, str]:
    """Return the environment of a server's command: a few usual variables, and the listed ones."""
    given = {entry.partition("=")[0]: entry.partition("=")[2] for entry in server.env if "=" in entry}
    names = [entry for entry in server.env if "=" not in entry]
    passing = command_env(env, provider_key_names=keys, more=names)
    return {
        **{name: value for name, value in passing.items() if name in _USUAL or name in names},
        **{name: own.fill_if_expanded(value, "env") for name, value in given.items()},
    }


def _command(server: McpServer, workspace: Path, own: Variables) -> tuple[Path, list[str]]:
    """Return the folder and the words of a server's command. Raises McpFailed."""
    cwd = workspace / Path(own.fill_if_expanded(server.cwd or "", "cwd")).expanduser()
    if not cwd.is_dir():
        raise McpFailed(f"its folder {cwd} does not exist")
    words = [own.fill_if_expanded(word, "command and args") for word in (server.command or "", *server.args)]
    return cwd, [str(Path(words[0]).expanduser()), *words[1:]]


def _stdio(
    server: McpServer,
    sandbox: Sandbox,
    workspace: Path,
    env: Mapping[str, str],
    keys: frozenset[str],
    live: Sequence[Path],
) -> Connect:
    @asynccontextmanager
    async def connect(traffic: Traffic, peer: Peer) -> AsyncGenerator[Session]:
        folder = await asyncio.to_thread(server_folder, server, workspace, env)
        places = {"workspaceFolder": str(workspace), "serverFolder": str(folder), "userHome": str(Path.home())}
        own = Variables(server, env, keys, {**places, **secrets_of(env).load().get(server.identity, {})})
        cwd, argv = await asyncio.to_thread(_command, server, workspace, own)
        variables = {
            **_environment(server, env, keys, own),
            "HOME": str(folder),
            "TMPDIR": "/tmp" if sandbox.kind == "bubblewrap" else str(sandbox.temp),
        }
        access = Access(
            network=server.network,
            writable=[folder],
            keeps_workspace=not server.write,
            readable=programs_of_user(argv, workspace),
            live=live,
        )
        sdk = await asyncio.to_thread(_sdk)
        process = await _start(sandbox, argv, workspace, access, cwd, variables, traffic)
        try:
            async with sdk.process_session(process, traffic, peer) as session:
                try:
                    yield session
                except Exception as error:
                    if session.closed.is_set() and not isinstance(error, McpFailed):
                        raise McpGone(await process.how_it_ended()) from error
                    raise
                if session.closed.is_set():
                    raise McpGone(await process.how_it_ended())
        finally:
            await process.end()

    return connect


async def _start(
    sandbox: Sandbox,
    argv: list[str],
    workspace: Path,
    access: Access,
    cwd: Path,
    env: Mapping[str, str],
    traffic: Traffic,
) -> ServerProcess:
    """Start the server in the sandbox. Raises McpFailed."""
    process = None
    for set_up in sandbox.starts():
        if process is not None:
            await process.end()
        wrapped = await asyncio.to_thread(sandbox.wrap, argv, workspace, access, report=set_up.descriptor)
        process = await ServerProcess.start(wrapped, cwd=cwd, env=env, traffic=traffic, pass_fds=set_up.descriptors)
        try:
            if await set_up.wait():
                break
        except BaseException:
            await process.end()
            raise
    assert process is not None
    return process


def _http(server: McpServer, env: Mapping[str, str], keys: frozenset[str]) -> Connect:
    @asynccontextmanager
    async def connect(traffic: Traffic, peer: Peer) -> AsyncGenerator[Session]:
        url, headers = address_of(server, env, keys)
        sdk, oauth = await asyncio.to_thread(_sdk), await asyncio.to_thread(_oauth)
        problem = sdk.HttpProblem()
        has_header = any(name.lower() == "authorization" for name in headers)
        auth = oauth.StaticHeader(problem) if has_header else oauth.ServerLogin(server, url, env, problem)
        peer.login = "stored" if has_login(server, env) else "none"
        try:
            async with sdk.http_session(url, headers, traffic, peer, auth=auth, problem=problem) as session:
                yield session
        finally:
            if problem.is_login:
                peer.login = "wanted"

    return connect


async def log_in(server: McpServer, env: Mapping[str, str], announce: Callable[[str], Awaitable[None]]) -> bool:
    """Log in to a server over HTTP, and store its tokens. Returns False if it wants no login. Raises McpFailed.

    `announce`: called with the address that the person has to open.
    """
    url, headers = address_of(server, env, frozenset())
    oauth = await asyncio.to_thread(_oauth)
    return await oauth.log_in(server, url, headers, env, announce)


def log_out(server: McpServer, env: Mapping[str, str]) -> bool:
    """Forget the tokens of a server. Returns whether there were any."""
    return logins_of(env).remove(server.identity)


def address_of(server: McpServer, env: Mapping[str, str], keys: frozenset[str]) -> tuple[str, dict[str, str]]:
    """Return the URL and the headers of a server, with the values of their variables. Raises McpFailed."""
    own = Variables(server, env, keys, secrets_of(env).load().get(server.identity, {}))
    try:
        url = read_url(own.fill_if_expanded(server.url or "", "url"))
    except UserError as error:
        raise McpFailed(str(error)) from error
    return url, {name: own.fill(text, "headers") for name, text in server.headers.items()}


def _sdk():  # noqa: ANN202 - a module
    """Import the SDK, which takes about a second."""
    from . import sdk

    return sdk


def _oauth():  # noqa: ANN202 - a module
    """Import the part of the SDK for logins."""
    from . import oauth

    return oauth
