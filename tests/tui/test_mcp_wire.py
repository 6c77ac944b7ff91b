"""The lines of the MCP server, while its event loop ends."""

from __future__ import annotations

import asyncio
import gc
import os
import threading

import pytest

from rundry.tui.mcp.mcp_wire import Incoming


def test_a_loop_that_ends_while_lines_wait_leaves_no_error_of_the_reading_thread(monkeypatch: pytest.MonkeyPatch):
    failed = list[object]()
    monkeypatch.setattr(threading, "excepthook", failed.append)
    reading, writing = os.pipe()

    async def serve() -> str:
        os.write(writing, b"line\n" * 50)  # more than it reads ahead
        return await anext(aiter(Incoming(reading)))

    assert asyncio.run(serve()) == "line"
    os.close(writing)
    gc.collect()  # a coroutine that was never awaited warns here
    assert failed == []


async def test_all_lines_arrive_in_their_order_however_many_wait():
    reading, writing = os.pipe()
    os.write(writing, b"".join(b"%d\n" % number for number in range(500)))
    os.close(writing)
    assert [line async for line in Incoming(reading)] == [str(number) for number in range(500)]
    os.close(reading)
