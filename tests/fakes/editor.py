"""An editor: the client side of the official ACP SDK, with the real command as its agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from acp import RequestError, spawn_agent_process
from acp.client.connection import ClientSideConnection
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    FileSystemCapabilities,
    Implementation,
    ReadTextFileResponse,
    RequestPermissionResponse,
    TextContentBlock,
)

from .rundry import RUNDRY, TIMEOUT, Home


class Editor:
    """What the editor was sent, and how it answers permission requests."""

    def __init__(self, answers: Sequence[str | None] = ()) -> None:
        """`answers`: for each permission request an option id, `cancelled`, or None for no answer. Then `approve`."""
        self.answers = list(answers)
        self.updates: list[tuple[str, Any]] = []
        self.asked: list[tuple[str, Any, list[Any]]] = []
        self.buffers: dict[str, str] = {}
        self._news = asyncio.Event()

    def on_connect(self, conn: object) -> None:
        """Nothing to do: the fixture has the connection."""

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append((session_id, update))
        self._news.set()

    async def request_permission(self, session_id: str, tool_call: Any, options: list[Any], **_: Any) -> Any:
        self.asked.append((session_id, tool_call, options))
        self._news.set()
        answer = self.answers.pop(0) if self.answers else "approve"
        if answer is None:
            await asyncio.sleep(TIMEOUT)
        if answer == "error":
            raise RequestError(-32601, "Method not found")
        if answer == "cancelled":
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=str(answer)))

    async def read_text_file(self, session_id: str, path: str, **_: Any) -> ReadTextFileResponse:
        if path not in self.buffers:
            raise RequestError(-32002, "not open")
        return ReadTextFileResponse(content=self.buffers[path])

    def of(self, kind: str, session_id: str | None = None) -> list[Any]:
        return [u for s, u in self.updates if u.session_update == kind and session_id in (None, s)]

    def text(self, session_id: str | None = None, kind: str = "agent_message_chunk") -> str:
        return "".join(update.content.text for update in self.of(kind, session_id))

    def calls(self) -> dict[str, dict[str, Any]]:
        """The tool calls as the editor shows them now: each with its newest fields."""
        found: dict[str, dict[str, Any]] = {}
        for update in (*self.of("tool_call"), *self.of("tool_call_update")):
            fields = update.model_dump(exclude_none=True)
            found.setdefault(update.tool_call_id, {}).update(fields)
        return found

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(TIMEOUT):
            while not condition():
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def editing(
    home: Home, editor: Editor, *argv: str, cwd: Path, reads: bool = False
) -> AsyncIterator[tuple[ClientSideConnection, Any]]:
    """Starts `rundry acp` and agrees on the protocol; gives the connection and the process."""
    async with spawn_agent_process(editor, str(RUNDRY), "acp", *argv, env=home.env, cwd=cwd) as (agent, process):
        await agent.initialize(
            protocol_version=1,
            client_capabilities=ClientCapabilities(fs=FileSystemCapabilities(read_text_file=reads)),
            client_info=Implementation(name="pad", version="1.0"),
        )
        yield agent, process


def words(text: str) -> list[TextContentBlock]:
    return [TextContentBlock(type="text", text=text)]
