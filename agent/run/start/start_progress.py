"""Show what the user waits for before a run begins."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

Found = TypeVar("Found")
Tell = Callable[[str], None]

FIRST_LINE_SECONDS = 2.0
"""Seconds of waiting after which the first line is shown."""
EVERY_SECONDS = 5.0
"""Seconds between two lines."""


async def with_progress(work: Awaitable[Found], tell: Tell, line: str, after: float = FIRST_LINE_SECONDS) -> Found:
    """Wait for the work and return its result. Call `tell` with the line after `after` seconds, then every 5 seconds.

    From `FIRST_LINE_SECONDS` on, the line includes the elapsed time.
    """
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    start, said = loop.time(), 0
    try:
        while not task.done():
            due = after if not said else after + said * EVERY_SECONDS
            done, _ = await asyncio.wait({task}, timeout=max(0.0, start + due - loop.time()))
            if not done:
                tell(f"{line}: {loop.time() - start:.0f} s" if due >= FIRST_LINE_SECONDS else line)
                said += 1
        return await task
    finally:
        task.cancel()
