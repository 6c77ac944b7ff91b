"""The process that parses changed files, without a run."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import psutil

from rundry.agent.step.diagnostics.parse_files import parse_problems
from rundry.agent.step.diagnostics.read_problems import FileVersions


def parsers() -> set[int]:
    """The processes below this one that parse files."""
    below = psutil.Process().children()
    return {one.pid for one in below if any("parse_process" in word for word in one.cmdline())}


async def lines(root, now: bytes, before: bytes | None = None) -> list[str]:
    found = await parse_problems(root, {"a.py": FileVersions(before, now)}, 20)
    return [f"{one.path}:{one.line}: {one.message}" for one in found]


async def test_one_process_parses_the_files_of_several_steps(tmp_path):
    assert await lines(tmp_path, b"x = (") == ["a.py:1: '(' was never closed"]
    first = parsers()
    assert await lines(tmp_path, b"x = 1\ny = = 2\n") == ["a.py:2: invalid syntax"]
    assert await lines(tmp_path, b"x = ((", b"x = (") == []
    assert len(first) == 1 and parsers() == first


async def test_a_process_that_was_killed_is_replaced(tmp_path):
    await lines(tmp_path, b"x = 1")
    (first,) = parsers()
    os.kill(first, signal.SIGKILL)
    assert await lines(tmp_path, b"x = (") == ["a.py:1: '(' was never closed"]
    assert first not in parsers()


async def test_a_process_that_parsed_large_files_is_ended(tmp_path):
    assert await lines(tmp_path, b"x = 1\n" * 50_000) == []
    assert parsers() == set()


async def test_a_parser_that_does_not_answer_delays_the_step_only_for_its_time(tmp_path):
    await lines(tmp_path, b"x = 1")
    (first,) = parsers()
    os.kill(first, signal.SIGSTOP)
    async with asyncio.timeout(5):
        assert await parse_problems(tmp_path, {"a.py": FileVersions(None, b"x = (")}, 0.2) == []
    end = time.monotonic() + 5
    while first in parsers() and time.monotonic() < end:
        await asyncio.sleep(0.01)
    assert first not in parsers(), "the process that does not answer is ended"
