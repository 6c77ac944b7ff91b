"""The MCP server: passes calls of a client to the tools. Imports the SDK, which the extra `rundry[mcp]` installs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from rundry.agent import VERSION, JournalError, RundryError

from ..text.show_text import one_line
from .mcp_text import client_name
from .mcp_wire import Incoming, Outgoing
from .tools import Call

if TYPE_CHECKING:
    from .schemas import Tool

_MOST_CALLS = 32
"""Most calls at the same time; a client that sends more gets errors."""
_LINE = 600

_ABOUT = (
    "rundry runs a model in a loop with limits, checks and a gate, where edits and commands wait for approval. Start a "
    "run with start_run, then call wait_for_run until it ends. A waiting proposal is decided by a person (rundry watch "
    "RUN), unless this server has the tool approve."
)

Context = ServerRequestContext[Any, Any]


class McpServer:
    """Serves one client."""

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        self._tools, self._calls = tools, 0
        self.client = client_name(None)
        """The client of the newest call, as events name it."""

    async def serve(self, source: int, target: int) -> None:
        """Serve the client on these file descriptors until it closes its end."""
        server: Server[Any] = Server(
            "rundry", version=VERSION, instructions=_ABOUT, on_list_tools=self._list, on_call_tool=self._call
        )
        incoming, outgoing = Incoming(source), Outgoing(target)
        # the SDK only iterates over the one and calls `write` and `flush` of the other
        async with stdio_server(incoming, outgoing) as (read, write):  # pyright: ignore[reportArgumentType]
            await server.run(read, write, server.create_initialization_options())

    async def _list(self, context: Context, params: object) -> types.ListToolsResult:
        del context, params
        return types.ListToolsResult(tools=[_declared(name, tool) for name, tool in self._tools.items()])

    async def _call(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            return _failed(f"there is no tool {one_line(params.name)[:60]}: {', '.join(self._tools)}")
        if self._calls >= _MOST_CALLS:
            return _failed(f"{self._calls} calls are open, which is the limit: wait for one of them")
        self._calls += 1
        try:
            asked = msgspec.convert(params.arguments or {}, tool.takes)
            result = await tool.run(asked, self._described(context))
        except msgspec.ValidationError as error:
            return _failed(f"{params.name}: {error}")
        except JournalError as error:
            return _failed(f"the run cannot be read or written: {error}")
        except (RundryError, OSError) as error:
            return _failed(str(error))
        except Exception as error:  # noqa: BLE001 - one call must not end the server
            print(f"rundry: {params.name} failed: {one_line(repr(error))}", file=sys.stderr, flush=True)
            return _failed(f"{params.name} failed with a fault of the program: {type(error).__name__}")
        finally:
            self._calls -= 1
        plain = msgspec.to_builtins(result)
        text = json.dumps(plain, ensure_ascii=False)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=plain)

    def _described(self, context: Context) -> Call:
        known = context.session.client_params
        self.client = client_name(known.client_info.name if known is not None else None)
        return Call(by=self.client, report=context.session.report_progress)


def _declared(name: str, tool: Tool) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=tool.reads_only, destructive_hint=not tool.reads_only)
    return types.Tool(
        name=name,
        description=tool.about,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=hints,
    )


def _failed(why: str) -> types.CallToolResult:
    text = one_line(why)[:_LINE]
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)
