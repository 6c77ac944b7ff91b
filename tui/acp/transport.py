"""The lines of JSON between this process and the editor, on its standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from typing import Any, cast

MOST_BYTES = 50 << 20
"""Maximum size of one message: a prompt can contain several images."""
_CLOSE_SECONDS = 2.0
_ATTENTION = 1 << 16
"""Bytes that may wait for an editor that does not read, before a sender waits."""


class StdioTransport:
    """Messages over two file descriptors. Nothing else of this process can write to its standard output."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._sending = asyncio.Lock()

    @classmethod
    async def open(cls) -> StdioTransport:
        """Take over standard input and output: what else is printed goes to standard error. Call it once."""
        sys.stdout.flush()
        out = os.dup(1)
        os.dup2(2, 1)
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=MOST_BYTES)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(0), "rb", 0))
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(out, "wb", 0)
        )
        transport.set_write_buffer_limits(_ATTENTION)
        return cls(reader, asyncio.StreamWriter(transport, protocol, None, loop))

    async def send(self, message: dict[str, Any]) -> None:
        """Write one message. Raises ConnectionError if the editor has closed the pipe."""
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        async with self._sending:
            if self._writer.is_closing():
                raise ConnectionError("the editor has closed the connection")
            self._writer.write(line)
            await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message, or None at the end of the input. A line that is not a JSON object gets an error."""
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.IncompleteReadError as end:
                line = end.partial
            except asyncio.LimitOverrunError:
                await self._answer_error(f"a message is longer than {MOST_BYTES >> 20} MB")
                return None
            except ConnectionError:
                return None
            if not line:
                return None
            if (message := await self._decoded(line)) is not None:
                return message

    async def close(self) -> None:
        """Close the pipe to the editor, after what was sent if the editor reads it soon."""
        self._writer.close()
        try:
            await asyncio.wait_for(self._writer.wait_closed(), _CLOSE_SECONDS)
        except TimeoutError:
            self._writer.transport.abort()
        except ConnectionError:
            pass

    async def _decoded(self, line: bytes) -> dict[str, Any] | None:
        if not line.strip():
            return None
        try:
            message: object = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if isinstance(message, dict):
            return cast("dict[str, Any]", message)
        await self._answer_error("a line is not a JSON object")
        return None

    async def _answer_error(self, why: str) -> None:
        with contextlib.suppress(ConnectionError):
            await self.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": f"parse error: {why}"}})
