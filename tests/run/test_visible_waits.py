"""What a long command prints, and locks that a step waits for, are events that every view can show."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from fakes.in_process.driven import Driven
from fakes.recorded_events import RecordedEvents
from fakes.turns import call, finish, say

from rundry.agent.protocol import LockAwaited, LockObtained, Predicates, Stop
from rundry.agent.step.resources.last_line import last_line
from rundry.agent.step.resources.watched_lock import WatchedLock

Make = Callable[..., Driven]
READ, DONE = call("read_file", path="a.txt"), finish("done", "a.txt:1")
SLOW = "echo one; sleep 1.3; echo two; sleep 1; printf 'three\\r\\033[1mfour\\033[0m'; sleep 1; echo end"


async def test_the_newest_output_of_a_long_command_is_recorded_with_its_call(driven: Make):
    run = driven(READ, call("run_command", command=SLOW), DONE)
    await run.run()
    lines = run.of("output_arrived")
    (called,) = [event for event in run.of("tool_called") if event["tool"] == "run_command"]
    assert [one["line"] for one in lines][:3] == ["one", "two", "four"], run.story()
    assert {one["call_id"] for one in lines} == {called["call_id"]} and lines[0]["command"] == SLOW


async def test_the_newest_output_of_a_long_check_is_recorded_and_a_short_one_costs_nothing(driven: Make):
    checks = Predicates(until=["echo quick; false", "echo collecting; sleep 1.3; false"])
    run = driven(say("hello"), predicates=checks)
    run.on("step_started", Stop(how="now"))
    await run.run()
    assert {(one["line"], one["call_id"]) for one in run.of("output_arrived")} == {("collecting", "")}, run.story()
    kinds = run.types()
    assert kinds.index("check_started") < kinds.index("output_arrived")


async def test_a_command_that_floods_is_reported_at_most_a_few_times(driven: Make):
    flood = "end=$((SECONDS + 4)); while [ $SECONDS -lt $end ]; do echo $RANDOM; done"
    run = driven(READ, call("run_command", command=flood), DONE)
    await run.run()
    assert 2 <= len(run.of("output_arrived")) <= 10, run.story()


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (b"a\n\n  \n", "a"),
        (b"10 %\r20 %\r", "20 %"),
        (b"\x1b[32mok\x1b[0m\n", "ok"),
        (b"word " * 60, f"{'word ' * 39}word …"),
        (b"x" * 400, ""),
        (b"\xff\xfe\n", "\ufffd\ufffd"),
        (b"", ""),
    ],
)
def test_the_last_line_is_as_a_terminal_leaves_it_and_never_ends_in_half_a_word(output: bytes, line: str):
    assert last_line(output) == line


async def test_a_wait_for_a_lock_of_the_run_is_recorded_with_its_holder_once_it_is_long():
    told = RecordedEvents()
    lock, first, inside = WatchedLock("the files of the workspace", told), asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        async with lock.held("an undo"):
            inside.set()
            await first.wait()

    async def wait() -> None:
        async with lock.held("a step"):
            pass

    holding = asyncio.create_task(hold())
    await inside.wait()
    waiting = asyncio.create_task(wait())
    async with asyncio.timeout(10):
        while not told:
            await asyncio.sleep(0.01)
    assert told == [LockAwaited(lock="the files of the workspace", holder="an undo")]
    first.set()
    await asyncio.gather(holding, waiting)
    ended = told[-1]
    assert isinstance(ended, LockObtained) and ended.obtained and ended.seconds > 0.4
    await wait()
    assert len(told) == 2
