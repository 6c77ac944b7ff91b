"""Work of a stage runs in a thread with its own loop, which never outlives the call."""

from __future__ import annotations

import asyncio
import threading

import pytest

from rundry.tui.api.staged import in_thread
from rundry.tui.control.waiting import awaiting, blocking


async def three() -> int:
    return 3


async def test_the_result_and_the_error_arrive_also_where_a_loop_runs():
    assert blocking(in_thread(three)) == 3
    assert await awaiting(in_thread(three)) == 3

    async def fails() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await awaiting(in_thread(fails))


def test_work_that_is_given_up_is_cancelled_and_its_thread_is_at_its_end():
    ended: list[str] = []

    async def sleeps() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    wait = in_thread(sleeps)
    next(wait)
    with pytest.raises(KeyboardInterrupt):
        wait.throw(KeyboardInterrupt)  # as Ctrl+C in the pause
    assert ended in (["cancelled"], [])  # it may be cancelled before its first line
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("rundry-apply")] == []
