"""Speak the protocol with the official SDK. This is the only module that imports it; importing takes about a second."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import anyio
import httpx2
import mcp_types as types
from mcp.client.session import ClientRequestContext, ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from pydantic import FileUrl

from ...protocol.version import VERSION
from .failed import McpFailed, McpGone, leaves_of
from .traffic import LONGEST_LINE, Traffic

if TYPE_CHECKING:
    from .peer import Peer
    from .process import ServerProcess
    from .running_call import RunningCall

Incoming = SessionMessage | Exception
MOST_ROWS = 500
_LIST_SECONDS = 20.0
_SESSION_GONE = "Session terminated"
"""What the SDK says about a server that was restarted."""
_HTTP_SECONDS = 30.0
_OLD_HANDSHAKE_REFUSED = (types.UNSUPPORTED_PROTOCOL_VERSION, types.METHOD_NOT_FOUND)
_LOGGERS = ("client", "mcp", "httpx2", "httpcore2")
"""Loggers of the SDK. They would print text of the server on the terminal."""

for _name in _LOGGERS:
    logging.getLogger(_name).addHandler(logging.NullHandler())
    logging.getLogger(_name).propagate = False


class HttpProblem:
    """Why a server over HTTP refused the last request, in words. The SDK only says that it was an error."""

    def __init__(self) -> None:
        self.text = ""
        self.is_login = False
        """Whether it wants a login."""


class Session:
    """An open connection. Its methods raise McpFailed."""

    def __init__(self, session: ClientSession, problem: HttpProblem) -> None:
        self._session, self._problem = session, problem
        self.closed = asyncio.Event()
        """Set when the server closed the connection."""
        self._rows: list[dict[str, Any]] | None = None
        """The tools of the list that is being read, as the server sent them, or None if no list is being read."""

    async def begin(self) -> None:
        """Agree on a version of the protocol."""
        try:
            await self._session.initialize()
        except MCPError as error:
            if self._problem.text:
                raise McpFailed(self._problem.text) from error
            if error.code == types.REQUEST_TIMEOUT:
                raise McpFailed(f"it did not answer within {_LIST_SECONDS:g} s") from error
            if error.code not in _OLD_HANDSHAKE_REFUSED:
                raise
            await self._session.discover()

    @property
    def instructions(self) -> str:
        """What the server says about the use of its tools; empty if it says nothing."""
        return self._session.instructions or ""

    async def list_tools(self) -> list[dict[str, Any]]:
        """Return the server's tools as JSON."""
        rows = self._rows = list[dict[str, Any]]()
        cursor: str | None = None
        try:
            while True:
                params = None if cursor is None else types.PaginatedRequestParams(cursor=cursor)
                before = len(rows)
                page = await self._session.list_tools(params=params)
                cursor = page.next_cursor
                if len(rows) > MOST_ROWS:
                    raise McpFailed(f"it lists more than {MOST_ROWS} tools")
                if not cursor or len(rows) == before:
                    return rows
        finally:
            self._rows = None

    def take_rows(self, message: types.JSONRPCResponse) -> types.JSONRPCResponse:
        """Keep the tools of a list as they are, and pass on the valid ones: the SDK refuses a list for one bad tool."""
        tools = message.result.get("tools")
        if self._rows is None or not isinstance(tools, list):
            return message
        rows = [cast("dict[str, Any]", row) for row in cast("list[object]", tools) if isinstance(row, dict)]
        self._rows += rows
        return message.model_copy(
            update={"result": {**message.result, "tools": [row for row in rows if _is_tool(row)]}}
        )

    async def call(self, name: str, arguments: dict[str, Any], running: RunningCall) -> dict[str, Any]:
        """Call a tool and return its result as JSON. If this is cancelled, the server gets the protocol's notice."""
        request = types.CallToolRequest(params=types.CallToolRequestParams(name=name, arguments=arguments))
        try:
            result = await self._session.send_request(
                request, types.CallToolResult, math.inf, progress_callback=running.progress
            )
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED:
                raise
            if error.message == _SESSION_GONE:
                raise McpGone("it does not know the session any more") from error
            if self._problem.text:
                raise McpFailed(self._problem.text) from error
            return {"isError": True, "content": [{"type": "text", "text": f"error {error.code}: {error.message}"}]}
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)


@asynccontextmanager
async def process_session(process: ServerProcess, traffic: Traffic, peer: Peer) -> AsyncGenerator[Session]:
    """Open a session with a server that speaks on its standard input and output."""
    to_server, written = anyio.create_memory_object_stream[SessionMessage](0)

    async def write() -> None:
        async with written:
            async for item in written:
                line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                await process.write(line.encode("utf-8", "surrogateescape"))

    async def read() -> AsyncGenerator[Incoming]:
        async for line in process.lines():
            if not line.strip():
                continue
            try:
                yield SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
            except ValueError as error:
                if b'"jsonrpc"' in line:
                    raise McpFailed("it sent a message that cannot be read") from error
                traffic.add_nonsense()

    async with anyio.create_task_group() as group:
        group.start_soon(_without_broken_pipe, write)
        async with _session(read(), to_server, traffic, peer, HttpProblem()) as session:
            yield session
        group.cancel_scope.cancel()


@asynccontextmanager
async def http_session(
    url: str,
    headers: Mapping[str, str],
    traffic: Traffic,
    peer: Peer,
    *,
    auth: httpx2.Auth,
    problem: HttpProblem,
) -> AsyncGenerator[Session]:
    """Open a session with a server over streamable HTTP. `problem`: gets the words for a refused request."""
    client = httpx2.AsyncClient(
        transport=_Bounded(traffic, problem),
        auth=auth,
        headers={**headers, "accept-encoding": "identity"},
        timeout=httpx2.Timeout(_HTTP_SECONDS, read=None),
        trust_env=False,
    )
    try:
        async with (
            client,
            streamable_http_client(url, http_client=client, max_sse_event_size=LONGEST_LINE) as (read, write),
            _session(read, write, traffic, peer, problem) as session,
        ):
            yield session
    except* httpx2.TransportError as errors:
        raise McpGone(f"it cannot be reached: {leaves_of(errors)[0]}") from errors


@asynccontextmanager
async def _session(
    source: AsyncIterator[Incoming] | Any,  # noqa: ANN401 - a stream of the SDK
    to_server: Any,  # noqa: ANN401 - a stream of the SDK
    traffic: Traffic,
    peer: Peer,
    problem: HttpProblem,
) -> AsyncGenerator[Session]:
    """Open a session over two streams, and count what the server sends."""
    passed, from_server = anyio.create_memory_object_stream[Incoming](0)

    async def relay() -> None:
        try:
            async with passed:
                async for item in source:
                    traffic.add_message()
                    message = item.message if isinstance(item, SessionMessage) else None
                    if isinstance(message, (types.JSONRPCRequest, types.JSONRPCNotification)):
                        peer.heard(message.method)
                    if isinstance(item, SessionMessage) and isinstance(message, types.JSONRPCResponse):
                        await passed.send(SessionMessage(session.take_rows(message), item.metadata))
                    else:
                        await passed.send(item)
        finally:
            session.closed.set()

    async with anyio.create_task_group() as group:
        info = types.Implementation(name="rundry", version=VERSION)
        client = ClientSession(
            from_server,
            to_server,
            _LIST_SECONDS,
            elicitation_callback=_Asked(peer).answer,
            list_roots_callback=_Asked(peer).roots if peer.roots else None,
            client_info=info,
        )
        session = Session(client, problem)
        async with client:
            group.start_soon(relay)
            yield session
        group.cancel_scope.cancel()


class _Asked:
    """Answers what a server asks of its client, in the types of the SDK."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def answer(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        """Return the person's answers."""
        del context
        answers = await self._peer.answer(params.model_dump(by_alias=True, mode="json", exclude_none=True))
        if answers is None:
            return types.ElicitResult(action="decline")
        is_form = isinstance(params, types.ElicitRequestFormParams)
        return types.ElicitResult(action="accept", content=answers if is_form else None)

    async def roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        """Return the folders that the server may know."""
        del context
        return types.ListRootsResult(
            roots=[types.Root(uri=FileUrl(one.as_uri()), name=one.name) for one in self._peer.roots]
        )


def _is_tool(row: dict[str, Any]) -> bool:
    """Return whether the SDK accepts this tool."""
    schema: object = row.get("inputSchema")
    if not isinstance(schema, dict) or cast("dict[str, object]", schema).get("type") != "object":
        return False
    try:
        types.Tool.model_validate(row, by_name=False)
    except ValueError:
        return False
    return True


async def _without_broken_pipe(write: Callable[[], Any]) -> None:
    """Write until the server closes its input; its output then says how it ended."""
    try:
        await write()
    except OSError:
        return


class _Bounded(httpx2.AsyncBaseTransport):
    """Counts the bytes of all responses, and refuses compressed ones, whose size is unknown."""

    def __init__(self, traffic: Traffic, problem: HttpProblem) -> None:
        self._inner, self._traffic, self._problem = httpx2.AsyncHTTPTransport(), traffic, problem

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise McpFailed("it sent a compressed answer, which was not asked for")
        if request.method == "POST":
            is_refused = response.status_code >= 400 and response.status_code != 404
            self._problem.text = f"it answered with the HTTP status {response.status_code}" if is_refused else ""
        stream = _Counted(response.stream, self._traffic)
        return httpx2.Response(
            response.status_code, headers=response.headers, stream=stream, extensions=response.extensions
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Counted(httpx2.AsyncByteStream):
    """A stream whose bytes are counted."""

    def __init__(self, inner: Any, traffic: Traffic) -> None:  # noqa: ANN401 - a stream of the library
        self._inner, self._traffic, self._total = inner, traffic, 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._inner:
            self._traffic.add_bytes(len(piece))
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()
