"""One MCP server during a run: start it, list its tools, call them, start it again if it dies, end it."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .failed import McpFailed, McpGone, leaves_of
from .running_call import RunningCall
from .tool_listing import Listing, McpTool, clean, read_listing
from .traffic import Traffic

if TYPE_CHECKING:
    from ...protocol import McpLogin, McpServer, McpState
    from .peer import Peer
    from .running_call import Caller
    from .sdk import Session

Connect = Callable[[Traffic, "Peer"], AbstractAsyncContextManager["Session"]]
"""Opens a session; the second argument hears what the server sends."""
START_SECONDS = 30.0
MOST_RESTARTS = 3
_RESTART_MINUTES = 10
"""A server that died is started again at most `MOST_RESTARTS` times in this span."""
MOST_TIMEOUTS = 3
"""Calls in a row that time out without any message of the server: then it hangs, and is started again."""
_END_SECONDS = 10.0
_LIST_SECONDS = 20.0
_CHANGED = "notifications/tools/list_changed"
_SAMPLING, _ROOTS = "sampling/createMessage", "roots/list"


class _Connection:
    """An open session with a server, until it ends."""

    def __init__(self, session: Session, traffic: Traffic) -> None:
        self.session, self.traffic = session, traffic
        self.left = asyncio.Event()
        """Set to end it, so that the server is started again."""
        self.why_left = ""
        self.over = asyncio.Event()
        """Set when all processes have ended and `McpClient.last_end` says why."""
        self.calls: list[RunningCall] = []
        """The calls that run now."""
        self.timeouts, self.heard = 0, 0
        """Calls in a row that timed out, and the messages of the server before the last of them."""

    def leave(self, why: str) -> None:
        """End it, so that the server is started again."""
        self.why_left = why
        self.left.set()

    def count_timeout(self) -> int:
        """Return how many calls in a row timed out without any message of the server."""
        self.timeouts = self.timeouts + 1 if self.heard == self.traffic.total else 1
        self.heard = self.traffic.total
        return self.timeouts


class McpClient:
    """A server and its state. Its connections live in a task of its own."""

    def __init__(
        self,
        server: McpServer,
        connect: Connect,
        *,
        may_write: bool = False,
        outputs: Sequence[str] = (),
        roots: Sequence[Path] = (),
        missing: str = "",
    ) -> None:
        """`may_write`: the server can change files of the workspace. `outputs`: the folders that it can write.

        `roots`: the folders that it may know. `missing`: what the server lacks, if it may not start for that reason.
        """
        self.missing = missing
        self.server, self.may_write, self.outputs, self.roots = server, may_write, outputs, roots
        self.state: McpState = "starting"
        self.why = ""
        """Why it failed or ended, or is started again; empty while it works."""
        self.last_end = ""
        """Why its last connection ended."""
        self.restarts = 0
        """How often it was started again."""
        self.tools: dict[str, McpTool] = {}
        """The accepted tools, by the name for the model."""
        self.instructions = ""
        """The accepted instructions, or an empty text if it has none or nobody accepted them."""
        self.login: McpLogin = "none"
        self.listing = Listing(tools=[], refused=[])
        """The newest list of the server."""
        self.is_changed = False
        """The server said that its list of tools changed, or it differs from the accepted one: no tool is called."""
        self.refused_requests: list[str] = []
        """What the server asked for and did not get, in words."""
        self.on_change: Callable[[McpClient], object] | None = None
        """Called when the state changes after the start. None means that the change is not reported."""
        self._connect = connect
        self._connection: _Connection | None = None
        self._stop, self._settled = asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._restarted: deque[float] = deque(maxlen=MOST_RESTARTS)

    @property
    def name(self) -> str:
        """The name in the config."""
        return self.server.name

    @property
    def is_offered(self) -> bool:
        """Whether its tools are offered. While it is started again they stay, and a call waits for it."""
        return self.state == "ready" or (self.state == "starting" and self.restarts > 0)

    async def start(self, seconds: float = START_SECONDS) -> None:
        """Connect and list the tools. A server that does not answer in time is ended. Never raises McpFailed."""
        self._task = asyncio.create_task(self._live(seconds))
        await self.settled()

    async def settled(self) -> None:
        """Wait until the server is neither being started nor started again."""
        await self._settled.wait()

    async def end(self, why: str, state: McpState = "ended") -> None:
        """End the server with all its processes. `why`: for the person."""
        self._set(state, why)
        if self._task is None:
            return
        self._stop.set()
        done, _ = await asyncio.wait({self._task}, timeout=_END_SECONDS)
        if not done:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def list_again(self) -> Listing:
        """Read the list of tools again. Raises McpFailed; the server is then ended."""
        try:
            async with asyncio.timeout(_LIST_SECONDS):
                session = self._open().session
                self.listing = read_listing(self.server, await session.list_tools(), session.instructions)
        except Exception as error:
            await self.end(f"its list of tools cannot be read: {_words(error)}", "failed")
            raise McpFailed(self.why) from error
        return self.listing

    async def answer(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Let the caller of the running call answer a request. Without a single running call, it is declined."""
        calls = [] if self._connection is None else self._connection.calls
        if len(calls) == 1:
            return await calls[0].answer(params)
        self._refuse("input of the person outside of a call")
        return None

    async def call(
        self, tool: str, arguments: dict[str, Any], caller: Caller, seconds: float, longest: float
    ) -> dict[str, Any]:
        """Call a tool by the server's own name; return its result as JSON. Raises McpFailed.

        A call that takes too long is cancelled, and the server stays, unless it hangs or could still change files.
        `longest`: what progress can extend `seconds` to.
        """
        connection = self._open()
        session = connection.session
        try:
            async with asyncio.timeout(seconds) as limit:
                running = RunningCall(self.server, caller, limit, seconds, longest)
                connection.calls.append(running)
                try:
                    result = await session.call(tool, arguments, running)
                finally:
                    connection.calls.remove(running)
                    await running.close()
        except TimeoutError:
            raise McpFailed(await self._timed_out(connection, clean(tool)[:60], seconds)) from None
        except McpGone as error:
            connection.leave(str(error))
        except Exception as error:
            if not session.closed.is_set():
                raise McpFailed(f"its answer cannot be used: {_words(error)}") from error
        else:
            if running.error is not None:
                raise running.error
            return result
        await connection.over.wait()
        raise McpFailed(f"the MCP server {self.name} ended during the call: {self.last_end}")

    async def _timed_out(self, connection: _Connection, tool: str, seconds: float) -> str:
        """Return what to say about a call that was cancelled."""
        late = f"did not answer `{tool}` within {seconds:g} s"
        if self.may_write:
            connection.leave(f"it {late}, and could still change files")
            await connection.over.wait()
        elif connection.count_timeout() >= MOST_TIMEOUTS:
            connection.leave(f"it {late}, and {MOST_TIMEOUTS} calls in a row")
            await connection.over.wait()
        return f"the MCP server {self.name} {late}: the call was cancelled"

    def _open(self) -> _Connection:
        if self._connection is None or self.state != "ready":
            raise McpFailed(f"the MCP server {self.name} does not run: {self.why or 'it has not started'}")
        return self._connection

    async def _live(self, seconds: float) -> None:
        """Keep a connection open until `end`, and open another one if the server dies."""
        try:
            while await self._connected(seconds):
                self._settled.clear()
                self._set("starting", f"{self.last_end}; started again ({len(self._restarted)} of {MOST_RESTARTS})")
                with suppress(TimeoutError):
                    async with asyncio.timeout(len(self._restarted) - 1):
                        await self._stop.wait()
        finally:
            self._settled.set()

    async def _connected(self, seconds: float) -> bool:
        """Keep one connection open until it ends. Returns whether the server is to be started again."""
        connection, can_restart = None, self.restarts > 0
        limit = asyncio.timeout(seconds)
        try:
            async with limit, self._connect(traffic := Traffic(), self) as session:
                connection = await self._begin(session, traffic)
                can_restart = True
                limit.reschedule(None)
                await _first_of(self._stop, session.closed, connection.left)
        except Exception as error:  # noqa: BLE001 - whatever a server does must not end the run
            is_late = limit.expired()
            self.last_end = f"it did not answer within {seconds:g} s" if is_late else _words(error)
            if self.missing and not self._has_run:
                self.last_end = f"{self.missing}. What it said: {self.last_end}"
            can_restart = can_restart and (is_late or _is_gone(error))
        else:
            self.last_end = connection.why_left or "it closed the connection"
        finally:
            self._connection = None
            if connection is not None:
                connection.over.set()
        return self._restarts(can_restart=can_restart)

    async def _begin(self, session: Session, traffic: Traffic) -> _Connection:
        await session.begin()
        listing = read_listing(self.server, await session.list_tools(), session.instructions)
        if self.restarts and listing.digests != self.listing.digests:
            self.is_changed = True
        self.listing = listing
        self._connection = _Connection(session, traffic)
        self._set("ready", "")
        self._settled.set()
        return self._connection

    def _restarts(self, *, can_restart: bool) -> bool:
        """Count a restart, or say that the server is over. `can_restart`: it ran, and died."""
        if self._stop.is_set():
            return False
        span, now = _RESTART_MINUTES * 60, time.monotonic()
        is_too_often = len(self._restarted) == MOST_RESTARTS and now - self._restarted[0] < span
        if not can_restart or is_too_often:
            often = f"; it was started again {MOST_RESTARTS} times in {_RESTART_MINUTES} minutes"
            self._set("ended" if self._has_run else "failed", f"{self.last_end}{often if can_restart else ''}")
            return False
        while self._restarted and now - self._restarted[0] >= span:
            self._restarted.popleft()
        self._restarted.append(now)
        self.restarts += 1
        return True

    @property
    def _has_run(self) -> bool:
        return self.restarts > 0 or self.state == "ready"

    def _set(self, state: McpState, why: str) -> None:
        """Change the state. The first reason for an end is kept."""
        if self.state in ("failed", "ended"):
            return
        has_run, self.state, self.why = self._has_run, state, clean(why).replace("\n", " ")[:400]
        if has_run:
            self._report_change()

    def heard(self, method: str) -> None:
        """Note a request or a notification of the server."""
        if method == _CHANGED:
            self.is_changed = True
        elif method == _SAMPLING:
            self._refuse("an answer of the model")
        elif method == _ROOTS and not self.roots:
            self._refuse("the list of folders")

    def _refuse(self, what: str) -> None:
        """Report once that the server asked for something and did not get it."""
        if what not in self.refused_requests:
            self.refused_requests.append(what)
            if self.state == "ready":
                self._report_change()

    def _report_change(self) -> None:
        if self.on_change is not None:
            self.on_change(self)


async def _first_of(*events: asyncio.Event) -> None:
    """Wait until one of the events is set."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


def _is_gone(error: BaseException) -> bool:
    """Return whether a server ended, and did nothing that it may not do."""
    inner = [one for one in leaves_of(error) if isinstance(one, McpFailed)]
    return bool(inner) and all(isinstance(one, McpGone) for one in inner)


def _words(error: BaseException) -> str:
    """Return what went wrong, of the first McpFailed in a group, else of the first error."""
    inner = list(leaves_of(error))
    known = next((one for one in inner if isinstance(one, McpFailed)), None)
    if known is not None:
        return str(known)
    first = inner[0] if inner else error
    text = clean(str(first)).strip().partition("\n")[0]
    return f"{type(first).__name__}: {text}" if text else type(first).__name__
