"""Make the servers of a run from its spec: sandboxed commands with a private home, and connections over HTTP."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ...sandbox.command_access import Access, programs_of_user
from ...sandbox.command_environment import command_env
from .client import Connect, McpClient
from .failed import McpFailed, McpGone
from .process import ServerProcess

if TYPE_CHECKING:
    from ...protocol import McpServer
    from ...sandbox.sandbox import Sandbox
    from .sdk import Session
    from .traffic import Traffic

_USUAL = ("PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TERM", "NO_COLOR", "CI")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


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
    connect = _stdio(server, held, workspace, server_env(server, env, keys, held), live)
    may_write = server.write or held.kind is None
    outputs = ["."] if may_write else [place.relative_to(workspace).as_posix() for place in live]
    return McpClient(server, connect, may_write=may_write, outputs=outputs)


def server_env(server: McpServer, env: Mapping[str, str], keys: Iterable[str], sandbox: Sandbox) -> dict[str, str]:
    """Return the environment of a server's command: a few usual variables, the listed ones, and a home of its own."""
    given = {entry.partition("=")[0]: entry.partition("=")[2] for entry in server.env if "=" in entry}
    names = [entry for entry in server.env if "=" not in entry]
    passing = command_env(env, provider_key_names=keys, more=names)
    home = sandbox.temp / "home"
    home.mkdir(exist_ok=True)
    seen = "/tmp" if sandbox.kind == "bubblewrap" else str(sandbox.temp)
    return {
        **{name: value for name, value in passing.items() if name in _USUAL or name in names},
        **given,
        "HOME": f"{seen}/home",
        "TMPDIR": seen,
    }


def _stdio(
    server: McpServer, sandbox: Sandbox, workspace: Path, env: Mapping[str, str], live: Sequence[Path]
) -> Connect:
    argv = [str(Path(server.command or "").expanduser()), *server.args]
    access = Access(
        network=server.network,
        keeps_workspace=not server.write,
        live=() if server.write else live,
        readable=programs_of_user(argv, workspace),
    )
    cwd = workspace / Path(server.cwd).expanduser() if server.cwd is not None else workspace

    @asynccontextmanager
    async def connect(traffic: Traffic, on_method: Callable[[str], None]) -> AsyncGenerator[Session]:
        if not cwd.is_dir():
            raise McpFailed(f"its folder {cwd} does not exist")
        sdk = await asyncio.to_thread(_sdk)
        process = await _start(sandbox, argv, workspace, access, cwd, env, traffic)
        try:
            async with sdk.process_session(process, traffic, on_method) as session:
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
    async def connect(traffic: Traffic, on_method: Callable[[str], None]) -> AsyncGenerator[Session]:
        headers = {name: _filled(text, env, keys) for name, text in server.headers.items()}
        sdk = await asyncio.to_thread(_sdk)
        async with sdk.http_session(server.url or "", headers, traffic, on_method) as session:
            yield session

    return connect


def _filled(text: str, env: Mapping[str, str], keys: frozenset[str]) -> str:
    """Return the header with the values of its variables. A provider's key is never passed on. Raises McpFailed."""
    names = _VARIABLE.findall(text)
    passing = command_env(env, provider_key_names=keys, more=names)
    for name in names:
        if name not in passing:
            why = "may not be sent to a server" if name in env else "is not set"
            raise McpFailed(f"the variable {name} in its headers {why}")
    return _VARIABLE.sub(lambda match: passing[match[1]], text)


def _sdk():  # noqa: ANN202 - a module
    """Import the SDK, which takes about a second."""
    from . import sdk

    return sdk
