"""When a view or the runner looks at a journal: soon after a write, rarely in silence, and nothing is missed."""

from __future__ import annotations

import asyncio
import time
from contextlib import closing

import psutil
import pytest

from rundry.agent.journal.journal import Journal
from rundry.agent.journal.write_watch import SETTLE_SECONDS, STILL_SECONDS, WriteWatch
from rundry.agent.protocol import Pause


async def until_still(watch: WriteWatch) -> None:
    """Return once nothing asks for a look any more."""
    while True:
        try:
            async with asyncio.timeout(2 * SETTLE_SECONDS):
                await watch.wait()
        except TimeoutError:
            return


async def test_a_write_by_another_handle_asks_for_a_look_immediately(journal):
    with closing(WriteWatch(0.01)) as watch, closing(Journal.open(journal.path)) as other:
        watch.follow(journal.path)
        await until_still(watch)
        journal.changed()
        waiting = asyncio.ensure_future(watch.wait())
        await asyncio.sleep(0)
        assert not waiting.done()
        began = time.monotonic()
        other.inbox.put(Pause())
        await waiting
        while not journal.changed():
            await watch.wait()
        assert time.monotonic() - began < 2 * SETTLE_SECONDS
        assert len(journal.inbox.take()) == 1


@pytest.mark.long
async def test_many_writes_in_a_row_ask_for_few_looks(journal):
    with closing(WriteWatch(0.03)) as watch, closing(Journal.open(journal.path)) as other:
        watch.follow(journal.path)
        looks, began, taken = 0, time.monotonic(), 0
        while taken < 500:
            for _ in range(5):
                other.inbox.put(Pause())
            taken += len(journal.inbox.take())
            await watch.wait()
            looks += 1
        assert looks <= 2 + (time.monotonic() - began) / 0.03


async def test_without_a_report_of_the_system_the_journal_is_polled(tmp_path):
    with closing(WriteWatch(0.01, poll=0.02)) as watch:
        watch.follow(tmp_path / "there is no such journal.db")
        began = time.monotonic()
        for _ in range(25):
            await watch.wait()
        assert 25 * 0.01 < time.monotonic() - began < 5


async def test_after_the_journal_was_closed_a_wait_ends_at_its_limit(journal):
    watch = WriteWatch(0.01)
    watch.follow(journal.path)
    await watch.wait()
    journal.close()
    began = time.monotonic()
    await watch.wait(0.01)
    assert time.monotonic() - began < STILL_SECONDS
    watch.close()
    watch.close()


def test_it_can_be_closed_after_the_event_loop_ended_and_frees_its_descriptor(journal):
    before = psutil.Process().num_fds()
    watch = WriteWatch(0.01)
    watch.follow(journal.path)
    asyncio.run(watch.wait())
    watch.close()
    assert psutil.Process().num_fds() == before
