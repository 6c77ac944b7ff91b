"""An item, a key, and a worker that is cancelled."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import psutil
import pytest

from rundry.agent.search.workers.worker import ItemResult, WorkItem

ITEM = WorkItem("file", "src/a.py", "/w/src/a.py", 2)


KEY_NAME, KEY = "OPENAI_API_KEY", "sk-canary-000000000000"


async def ended_within_a_second(task: asyncio.Task[ItemResult], pid_file: Path) -> None:
    until = time.monotonic() + 20
    while not pid_file.exists() or not pid_file.read_text():
        assert time.monotonic() < until
        await asyncio.sleep(0.01)
    tree = [psutil.Process(int(pid_file.read_text()))]
    while not tree[0].children():
        assert time.monotonic() < until
        await asyncio.sleep(0.01)
    tree += tree[0].children(recursive=True)
    before = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - before < 1.0
    assert not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in tree)
