"""A client of the official SDK on the real `rundry mcp`, over real pipes."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fakes.project import make_project
from fakes.rundry import RUNDRY, Home
from fakes.server import ScriptedServer

pytest.importorskip("mcp")

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import Implementation


@dataclass
class Client:
    """What a client of the server does in tests."""

    session: ClientSession
    errors: Path
    """What the server wrote to its standard error."""

    async def raw(self, tool: str, **arguments: Any) -> Any:
        """The result as the SDK gives it, also one that is an error."""
        return await self.session.call_tool(tool, arguments)

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured result. The SDK has compared it with the schema."""
        result = await self.raw(tool, **arguments)
        assert not result.is_error, result.content[0].text
        return result.structured_content

    async def refused(self, tool: str, **arguments: Any) -> str:
        """Why the server refused it: one line."""
        result = await self.raw(tool, **arguments)
        assert result.is_error, result.structured_content
        (line,) = result.content[0].text.splitlines()
        assert "Traceback" not in line
        return line

    async def tools(self) -> list[str]:
        return [tool.name for tool in (await self.session.list_tools()).tools]

    async def waiting(self, run: str) -> dict[str, Any]:
        """The run once it needs somebody."""
        waited = await self.call("wait_for_run", run=run, seconds=60)
        assert waited["changed"], waited
        return waited["view"]


@asynccontextmanager
async def connected(
    home: Home, folder: Path, *options: str, model: ScriptedServer | None = None, name: str = "claude-code"
) -> AsyncGenerator[Client]:
    """A client that has shaken hands with `rundry mcp`, started in that folder."""
    words = ["mcp", *options]
    if model is not None:
        words += ["--model", "fake", "--api-base", model.base_url]
    errors = home.root / "mcp-errors.txt"
    server = StdioServerParameters(command=str(RUNDRY), args=words, env=home.env, cwd=folder)
    with errors.open("w") as log:
        async with (
            stdio_client(server, errlog=log) as (read, write),
            ClientSession(read, write, client_info=Implementation(name=name, version="1")) as session,
        ):
            await session.initialize()
            yield Client(session, errors)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A git project whose suite is red, below a folder with a neighbour that no client may see."""
    (tmp_path / "neighbour").mkdir()
    folder = tmp_path / "work" / "project"
    folder.mkdir(parents=True)
    os.chmod(tmp_path / "work", 0o755)
    return make_project(folder)
