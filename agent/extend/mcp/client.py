"""One MCP server during a run: start it, list its tools, call them, end it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, cast

from .call_results import CallText, call_text
from .failed import McpFailed
from .tool_listing import Listing, McpTool, clean, read_listing
from .traffic import Traffic

if TYPE_CHECKING:
    from ...protocol import McpServer, McpState
    from .sdk import Session

Connect = Callable[[Traffic, Callable[[str], None]], AbstractAsyncContextManager["Session"]]
"""Opens a session; the second argument is called with the method of each message of the server."""
START_SECONDS = 30.0
_END_SECONDS = 10.0
_LIST_SECONDS = 20.0
_CHANGED = "notifications/tools/list_changed"
_REQUESTS = {
    "sampling/createMessage": "an answer of the model",
    "elicitation/create": "input of the person",
    "roots/list": "the list of folders",
}
"""What a server may ask of a client. All of it is refused."""


class McpClient:
    """A server and its state. Its connection lives in a task of its own."""

    def __init__(
        self, server: McpServer, connect: Connect, *, may_write: bool = False, outputs: Sequence[str] = ()
    ) -> None:
        """`may_write`: the server can change files of the workspace. `outputs`: the folders that it can write."""
        self.server, self.may_write, self.outputs = server, may_write, outputs
        self.state: McpState = "starting"
        self.why = ""
        """Why it failed or ended; empty while it works."""
        self.tools: dict[str, McpTool] = {}
        """The accepted tools, by the name for the model."""
        self.listing = Listing(tools=[], refused=[])
        """The newest list of the server."""
        self.is_changed = False
        """The server said that its list of tools changed, or it differs from the accepted one: no tool is called."""
        self.refused_requests: list[str] = []
        """What the server asked for and did not get, in words."""
        self.on_change: Callable[[McpClient], object] | None = None
        """Called when the state changes after the start. None means that the change is not reported."""
        self._connect, self._session = connect, None
        self._stop, self._ready = asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """The name in the config."""
        return self.server.name

    async def start(self, seconds: float = START_SECONDS) -> None:
        """Connect and list the tools. A server that does not answer in time is ended. Never raises McpFailed."""
        self._task = asyncio.create_task(self._live())
        try:
            async with asyncio.timeout(seconds):
                await self._ready.wait()
        except TimeoutError:
            await self.end(f"it did not answer within {seconds:g} s", "failed")

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
                self.listing = read_listing(self.server, await self._open().list_tools())
        except Exception as error:
            await self.end(f"its list of tools cannot be read: {_words(error)}", "failed")
            raise McpFailed(self.why) from error
        return self.listing

    async def call(self, tool: str, arguments: dict[str, Any], seconds: float) -> CallText:
        """Call a tool by the server's own name. Raises McpFailed; a server that does not answer in time is ended."""
        session = self._open()
        try:
            async with asyncio.timeout(seconds + 1):
                return call_text(await session.call(tool, arguments, seconds))
        except TimeoutError:
            await self.end(f"it did not answer `{clean(tool)[:60]}` within {seconds:g} s")
        except Exception as error:
            if not session.closed.is_set():
                raise McpFailed(f"its answer cannot be used: {_words(error)}") from error
            if self._task is not None:  # it knows how the server ended
                await asyncio.wait({self._task}, timeout=_END_SECONDS)
        raise McpFailed(f"the MCP server {self.name} was ended: {self.why}")

    def _open(self) -> Session:
        if self._session is None or self.state != "ready":
            raise McpFailed(f"the MCP server {self.name} does not run: {self.why or 'it has not started'}")
        return self._session

    async def _live(self) -> None:
        """Keep the connection open until `end` or until the server closes it."""
        try:
            async with self._connect(Traffic(), self._on_method) as session:
                await session.begin()
                self.listing = read_listing(self.server, await session.list_tools())
                self._session = session
                self._set("ready", "")
                self._ready.set()
                ends = [asyncio.ensure_future(event.wait()) for event in (self._stop, session.closed)]
                try:
                    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for end in ends:
                        end.cancel()
        except Exception as error:  # noqa: BLE001 - whatever a server does must not end the run
            self._set("ended" if self.state == "ready" else "failed", _words(error))
        else:
            self._set("ended", "it closed the connection")
        finally:
            self._session = None
            self._ready.set()

    def _set(self, state: McpState, why: str) -> None:
        """Change the state. The first reason for an end is kept."""
        if self.state in ("failed", "ended"):
            return
        was_ready, self.state, self.why = self.state == "ready", state, clean(why).replace("\n", " ")[:400]
        if was_ready:
            self._report_change()

    def _on_method(self, method: str) -> None:
        if method == _CHANGED:
            self.is_changed = True
        asked = _REQUESTS.get(method)
        if asked is not None and asked not in self.refused_requests:
            self.refused_requests.append(asked)
            if self.state == "ready":
                self._report_change()

    def _report_change(self) -> None:
        if self.on_change is not None:
            self.on_change(self)


def _words(error: BaseException) -> str:
    """Return what went wrong, of the first McpFailed in a group, else of the first error."""
    inner = list(_leaves(error))
    known = next((one for one in inner if isinstance(one, McpFailed)), None)
    if known is not None:
        return str(known)
    first = inner[0] if inner else error
    text = clean(str(first)).strip().partition("\n")[0]
    return f"{type(first).__name__}: {text}" if text else type(first).__name__


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        inner = cast("BaseExceptionGroup[BaseException]", error).exceptions
        return [leaf for one in inner for leaf in _leaves(one)]
    return [error]
