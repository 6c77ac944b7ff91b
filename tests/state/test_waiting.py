"""What a run waits for: named, with the time, in the session and headless."""

from __future__ import annotations

import asyncio
import time

import pytest
from fakes.played_events import Script, started
from fakes.screens import Stage
from painted import until

from rundry.agent import (
    CallAdmitted,
    Charged,
    CheckFinished,
    CheckStarted,
    ConfirmationStarted,
    Fault,
    LockAwaited,
    LockObtained,
    OutputArrived,
    PromptRead,
    ProposalDecided,
    ProposalOpened,
    ReplyFinished,
    RunEnded,
    ShellStarted,
    Sleeping,
    StepStarted,
    TextArrived,
    ToolCalled,
    ToolFinished,
    ViewState,
    reduce_all,
    waiting_for,
)
from rundry.agent.protocol import CommandEffects, EffectEntry, Reason
from rundry.agent.run.start.start_progress import with_progress
from rundry.tui.plain.headless.wait_lines import WaitLines

ASKS = CallAdmitted(prompt_tokens=10, max_tokens=1, worst_usd=0)
RUNS = ToolCalled(call_id="c", tool="run_command", arguments={"command": "make all"})
PAID = Charged(tokens_in=1, tokens_out=1, model="m")
FAULT = Fault(kind="stalled", text="silent", retry_in=0)
OPENED = ProposalOpened(proposal_id="p", call_id="c", tool="run_command", command="make all", digest="d")
CHANGED = CommandEffects(command="make all", entries=[EffectEntry(path="out.txt", change="added")])
EFFECTS = ProposalOpened(proposal_id="q", call_id="", tool="run_command", digest="d", asks=["x"], effects=CHANGED)
CHECKED = CheckFinished(command="pytest -q", passed=True, exit_code=0, timed_out=False, failing=0, output="")


def after(*events: object) -> tuple[ViewState, float]:
    state = ViewState()
    stamped = Script(at=1_000.0).stamp(started(), StepStarted(number=1), *events)  # type: ignore[arg-type]
    reduce_all(state, stamped)
    return state, stamped[-1].at


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ((ASKS,), "waiting for the first token of"),
        ((ASKS, TextArrived(text="a")), None),
        ((ASKS, PromptRead(read=1024, total=2300)), "reading the prompt: 1,024 of 2,300 tokens"),
        ((ASKS, PromptRead(read=1024, total=2300), PromptRead(read=2048, total=2300)), "prompt: 2,048 of 2,300 tokens"),
        ((ASKS, PromptRead(read=2300, total=2300)), "waiting for the first token of"),
        ((ASKS, PromptRead(read=1024, total=2300), TextArrived(text="a")), None),
        ((ASKS, PromptRead(read=9, total=23), PAID, ReplyFinished(finish="stop", calls=0)), None),
        ((ASKS, PromptRead(read=9, total=23), PAID, FAULT, ASKS), "waiting for the first token of"),
        ((ASKS, TextArrived(text="a"), PAID, RUNS, OPENED), "running make all"),
        ((RUNS, OPENED, EFFECTS), None),
        ((RUNS, ToolFinished(call_id="c", tool="run_command", ok=True, result="")), None),
        ((CheckStarted(command="pytest -q"),), "running pytest -q"),
        ((ShellStarted(shell_id=3, command="make", told=True),), "running ! make"),
        ((CheckStarted(command="pytest -q"), CHECKED), None),
        ((ConfirmationStarted(command="pytest -q"),), "in a clean checkout: pytest -q"),
        ((Sleeping(asked=9, seconds=9, why="x"),), None),
        ((ASKS, RunEnded(reason=Reason.USER, detail="", complete=False, exit_code=130)), None),
    ],
)
def test_a_wait_has_the_name_of_what_is_waited_for(events: tuple[object, ...], words: str | None):
    state, at = after(*events)
    wait = waiting_for(state)
    if words is None:
        assert wait is None
        return
    assert wait is not None
    assert words in wait.words(at + 34)
    assert wait.words(at + 34).endswith("0:34")


def test_a_rate_limit_says_when_the_next_attempt_is_made():
    state, at = after(ASKS, Fault(kind="rate-limit", text="429 too many requests", retry_in=20))
    wait = waiting_for(state)
    assert wait is not None
    assert wait.words(at + 8) == "rate limit: 429 too many requests  retry in 0:12"
    reduce_all(state, Script(at=at + 21).stamp())
    state, _ = after(Fault(kind="rate-limit", text="429", retry_in=20), ASKS)
    retried = waiting_for(state)
    assert retried is not None
    assert "first token" in retried.what


def test_a_long_wait_also_says_at_what_time_it_ends():
    state, at = after(ASKS, Fault(kind="rate-limit", text="429", retry_in=420))
    wait = waiting_for(state)
    assert wait is not None
    ends = time.strftime("%H:%M", time.localtime(at + 420))
    assert wait.words(at + 8) == f"rate limit: 429  retry in 6:52 (at {ends})"


def test_a_wait_shows_the_newest_line_that_the_command_printed_until_it_ends():
    printed = OutputArrived(command="make all", line="CC main.o", call_id="c")
    state, at = after(RUNS, OPENED, ProposalDecided(proposal_id="p", decision="approve", by="policy"), printed)
    wait = waiting_for(state)
    assert wait is not None and wait.words(at + 34).endswith("0:34  CC main.o")
    reduce_all(state, Script(at=at).stamp())
    state, _ = after(RUNS, printed, ToolFinished(call_id="c", tool="run_command", ok=True, result=""))
    assert waiting_for(state) is None and not state.printed


def test_a_long_command_leaves_half_of_the_line_to_what_it_printed():
    command = "pytest -q tests/" + "long/" * 30
    state, at = after(CheckStarted(command=command), OutputArrived(command=command, line="12 passed " * 9))
    wait = waiting_for(state)
    assert wait is not None
    line = wait.words(at + 34, 80)
    assert line.startswith("running pytest -q") and "…  0:34  12 passed 12 passed" in line[:80]


def test_of_several_things_the_one_that_began_first_is_shown_with_their_number():
    fetch = ToolCalled(call_id="d", tool="fetch_url", arguments={"url": "https://example.org/"})
    for events in ([CheckStarted(command="pytest -q"), fetch], [CheckStarted(command="pytest -q"), fetch, ASKS]):
        state, _ = after(*events)
        wait = waiting_for(state)
        assert wait is not None and wait.what == "running pytest -q" and wait.others == len(events) - 1


def test_a_lock_is_named_with_its_holder_before_anything_else():
    awaited = LockAwaited(lock="/w/.git/index.lock", holder="process 7 (git commit)")
    state, at = after(CheckStarted(command="pytest -q"), awaited)
    wait = waiting_for(state)
    assert wait is not None and wait.is_lock
    assert wait.words(at + 3) == "waiting for /w/.git/index.lock, held by process 7 (git commit)  0:03"
    state, _ = after(awaited, LockObtained(lock="/w/.git/index.lock"))
    assert waiting_for(state) is None
    state, _ = after(LockAwaited(lock="the files"))
    wait = waiting_for(state)
    assert wait is not None and "held by an unknown process" in wait.what


def test_without_a_screen_a_lock_is_reported_immediately():
    state, at = after(LockAwaited(lock="the files", holder="an undo"))
    lines = WaitLines()
    said = [line for second in range(8) if (line := lines.due(state, at + second)) is not None]
    assert said == [
        "waiting for the files, held by an undo  0:00",
        "still waiting for the files, held by an undo  0:05",
    ]


def test_without_a_screen_a_long_wait_is_a_line_at_growing_intervals():
    state, at = after(CheckStarted(command="pytest -q"))
    lines = WaitLines()
    said = [line for second in range(200) if (line := lines.due(state, at + second)) is not None]
    assert [line.rsplit(" ", 1)[1] for line in said] == ["0:05", "0:15", "0:30", "1:00", "2:00", "3:00"]
    assert said[0] == "still running pytest -q  0:05"


def test_without_a_screen_the_reading_of_a_prompt_is_reported_as_rarely_as_any_wait():
    state, script = ViewState(), Script(at=1_000.0)
    reduce_all(state, script.stamp(started(), StepStarted(number=1), ASKS))
    lines, at, said = WaitLines(), script.at, list[str]()
    for second in range(70):
        reduce_all(state, script.stamp(PromptRead(read=second, total=2_300), after=1))
        if (line := lines.due(state, at + second)) is not None:
            said.append(line)
    assert said == [f"still reading the prompt: {n} of 2,300 tokens  {n // 60}:{n % 60:02}" for n in (5, 15, 30, 60)]


async def test_the_session_shows_how_far_a_prompt_is_read_and_stops_with_the_first_token():
    stage = Stage()
    async with stage.app.run_test(size=(80, 24)) as pilot:
        stage.play(started(), StepStarted(number=1), ASKS, PromptRead(read=1024, total=2300))
        await stage.caught_up(pilot)
        await until(pilot, lambda: "── reading the prompt: 1,024 of 2,300 tokens" in stage.text())
        stage.play(PromptRead(read=2048, total=2300))
        await until(pilot, lambda: "── reading the prompt: 2,048 of 2,300 tokens" in stage.text())
        stage.play(TextArrived(text="Here"))
        await until(pilot, lambda: "reading the prompt" not in stage.text())


async def test_the_session_shows_a_wait_after_two_seconds_and_moves_no_row():
    stage = Stage()
    async with stage.app.run_test(size=(80, 24)) as pilot:
        stage.play(started(), StepStarted(number=1), CheckStarted(command="pytest -q"))
        await stage.caught_up(pilot)
        rows = len(stage.text().splitlines())
        await until(pilot, lambda: "── running pytest -q" in stage.text())
        assert len(stage.text().splitlines()) == rows
        stage.play(OutputArrived(command="pytest -q", line="tests/test_calc.py \x1b[31m..F\u202e"))
        await until(pilot, lambda: "tests/test_calc.py ␛[31m..F⟨U+202E⟩ ──" in stage.text())
        assert len(stage.text().splitlines()) == rows
        stage.play(CHECKED)
        await until(pilot, lambda: "── running" not in stage.text())


async def test_a_long_wait_before_a_run_begins_is_reported_with_its_time():
    said: list[str] = []
    done = asyncio.Event()

    def tell(line: str) -> None:
        said.append(line)
        done.set()

    assert await with_progress(done.wait(), tell, "listing the files", after=0.01)
    assert said == ["listing the files"]
    said.clear()
    assert await with_progress(asyncio.sleep(0, "quick"), tell, "listing the files") == "quick"
    assert said == []
