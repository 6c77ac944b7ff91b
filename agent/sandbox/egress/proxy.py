"""An HTTP proxy in the loopback network of a run, which connects commands to the listed hosts.

Commands have their own network, which is not connected to any other. The proxy listens in that network but makes its
connections from this process, so that no other program has to run in the sandbox. It runs in a thread.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ...host.internet import may_resolve_to
from .proxy_requests import ProxyRequest, read_request
from .tunnel import LONGEST_HEAD, PIECE, TunnelRefused, carry_tunnel, relay

if TYPE_CHECKING:
    from ...host.address_hosts import Target
    from .allowed_hosts import HostList

_CHILD = Path(__file__).with_name("listen_child.py")
_SECONDS, _END_SECONDS = 40.0, 5.0
MOST = 64
"""Maximum number of concurrent connections."""
_HEAD_SECONDS, _CONNECT_SECONDS = 10.0, 20.0
_MOST_LINES = 12
"""Maximum number of servers that are listed after a command."""
_MOST_SERVERS = 1_000
_NOT_LISTED = "not in [sandbox] hosts"
_BYPASS = "localhost,127.0.0.1,::1"


class Egress:
    """A running proxy. Raises OSError if it cannot listen."""

    def __init__(self, hosts: HostList, join: Sequence[str]) -> None:
        """Start the proxy. `join`: the arguments that run a program in the network of the commands."""
        listening = _listen(join)
        port = listening.getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        self.env = {name: url for upper in names for name in (upper, upper.lower())}
        self.env |= {"NO_PROXY": _BYPASS, "no_proxy": _BYPASS, "NODE_USE_ENV_PROXY": "1"}
        """Environment variables that make the programs of a command use the proxy."""
        self._record = _Record()
        server = _Server(hosts, listening, self._record)
        self._end = weakref.finalize(self, server.stop)

    def close(self) -> None:
        """Stop the proxy and end all connections."""
        self._end()

    def mark(self) -> dict[str, int]:
        """Return the number of connections to each server so far, for `lines`."""
        return self._record.now()

    def lines(self, since: dict[str, int]) -> list[str]:
        """Return a line for each server that commands asked for since the mark. A long list is cut."""
        new = Counter(self._record.now())
        new.subtract(since)
        found = [f"{what} ({count} times)" if count > 1 else what for what, count in new.items() if count > 0]
        more = len(found) - _MOST_LINES
        return found[:_MOST_LINES] + ([f"{more} more servers were asked for"] if more > 0 else [])


class _Record:
    """Counts of the connections that were made and refused, in order. The proxy's thread writes them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}

    def add(self, what: str) -> None:
        with self._lock:
            key = what if what in self._counts or len(self._counts) < _MOST_SERVERS else "other servers were asked for"
            self._counts[key] = self._counts.get(key, 0) + 1

    def now(self) -> dict[str, int]:
        with self._lock:
            return dict(self._counts)


class _Server:
    """Accepts and relays connections in its own thread."""

    def __init__(self, hosts: HostList, listening: socket.socket, record: _Record) -> None:
        self._hosts, self._listening, self._record = hosts, listening, record
        self._open = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="rundry-egress", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._cancel)
        self._thread.join(_END_SECONDS)

    def _cancel(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            with suppress(asyncio.CancelledError):
                self._loop.run_until_complete(self._serve())
        finally:
            left = asyncio.all_tasks(self._loop)
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            self._loop.close()
            self._listening.close()  # a stop before the server began leaves it open

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._answer, sock=self._listening, limit=LONGEST_HEAD)
        async with server:
            await server.serve_forever()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open > MOST:
                raise TunnelRefused(f"refused a connection: more than {MOST} at the same time")
            await self._carry(reader, writer)
        except TunnelRefused as refused:
            self._record.add(str(refused))
            writer.write(refused.answer)
            with suppress(OSError):
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client disconnected or sent an unreadable request
        finally:
            self._open -= 1
            writer.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_HEAD_SECONDS):
            request = read_request(await reader.readuntil(b"\r\n\r\n"))
        if request is None:
            raise TunnelRefused("refused a request that is not a plain HTTP proxy request")
        from_server, to_server = await self._connect(request)
        self._record.add(f"connected to {request.target}")
        try:
            if request.head:
                to_server.write(request.head)
                await asyncio.gather(relay(reader, to_server), relay(from_server, writer))
            else:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await carry_tunnel(request.target, (reader, writer), (from_server, to_server))
        finally:
            to_server.close()

    async def _connect(self, request: ProxyRequest) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to an address that was checked, because a second look-up could return another one."""
        target = request.target
        if not self._hosts.allows(target):
            raise TunnelRefused(f"refused {target}: {_NOT_LISTED}")
        why = "its name cannot be resolved"
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                for address in await self._addresses(target):
                    try:
                        return await asyncio.open_connection(address, target.port, limit=PIECE)
                    except OSError as error:
                        why = error.strerror or str(error)
        except TimeoutError:
            why = f"no answer within {_CONNECT_SECONDS:g} s"
        except OSError as error:
            why = error.strerror or str(error)
        raise TunnelRefused(f"no connection to {target}: {why}")

    async def _addresses(self, target: Target) -> list[str]:
        rows = await self._loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        found = list(dict.fromkeys(str(row[4][0]) for row in rows))
        judged = [address for address in found if may_resolve_to(target.host, address, self._hosts.addresses)]
        if found and not judged:
            raise TunnelRefused(f"refused {target}: it leads to an address that is not public")
        return judged


def _listen(join: Sequence[str]) -> socket.socket:
    """Return a listening socket in the network of the commands."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        argv = [*join, sys.executable, "-I", "-S", "-B", "-c", _text(), str(theirs.fileno())]
        done = subprocess.run(
            argv, pass_fds=[theirs.fileno()], capture_output=True, timeout=_SECONDS, check=False, env={}
        )
        theirs.close()
        _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
    if not descriptors:
        message = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise OSError(f"the proxy cannot listen: {message or 'no socket'}")
    listening = socket.socket(fileno=descriptors[0])
    listening.setblocking(False)
    return listening


@cache
def _text() -> str:
    return _CHILD.read_text("utf-8")
