"""Attaching to a long run and to an empty one; a command on its way to another view; what ten views cost the runner."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import psutil
from fakes.rundry import Home
from fakes.terminal import Terminal

from rundry.agent.journal.claim import holder
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    Budget,
    Event,
    LoopKind,
    ModelSpec,
    Reason,
    ReplyFinished,
    RunEnded,
    RunSpec,
    RunStarted,
    SetLimit,
    StepFinished,
    StepStarted,
    TextArrived,
    ToolCalled,
    ToolFinished,
)

from ..serving import serving
from ..table import Row, middle
from ..typing import watch

EVENTS, ROUNDS, VIEWS = 100_000, 5, 10
COMMANDS = 10
TOKENS, RATE = 6_000, 400
END = "step budget: all of them"


def measure(folder: Path) -> list[Row]:
    home, project = Home(folder), folder / "project"
    project.mkdir()
    for name, events in (("long", EVENTS), ("short", 40)):
        _record(home.runs / f"{name}.db", project, events)
    firsts: dict[str, list[float]] = {"long": [], "short": []}
    states: dict[str, list[float]] = {"long": [], "short": []}
    for _ in range(ROUNDS):
        for name in firsts:
            first, state = attached(home, project, name)
            firsts[name].append(first)
            states[name].append(state)
    gap = 1000 * (middle(firsts["long"]) - middle(firsts["short"]))
    alone, among = _streamed(folder / "alone", 0), _streamed(folder / "among", VIEWS)
    return [
        Row(f"first screen of {EVENTS:,} events, behind that of an empty run", max(0.0, gap), "ms", limit=300),
        Row("their current state", middle(states["long"]), "s", limit=1),
        Row("  of an empty run", middle(states["short"]), "s"),
        Row("a command of one view on another's screen, median", 1000 * middle(_told(folder)), "ms", limit=100),
        Row(f"the runner's processor time with {VIEWS} views", among, "s", alone, "with none", 1.1),
    ]


def _record(path: Path, project: Path, count: int) -> None:
    spec = RunSpec(run_id=path.stem, loop=LoopKind.GOAL, task="t", workspace=str(project), model=ModelSpec(name="fake"))
    journal = Journal.create(path, spec)
    first = RunStarted(
        run_id=path.stem,
        loop=spec.loop,
        task="t",
        workspace=spec.workspace,
        model="fake",
        budget=Budget(),
        journal=str(path),
    )
    with journal.transaction():
        journal.append(first)
        for number in range(1, count // 18 + 1):
            for event in make_step(number):
                journal.append(event, step=number)
        journal.append(RunEnded(reason=Reason.BUDGET, detail=END, complete=False, exit_code=3))
    journal.close()


def make_step(number: int) -> list[Event]:
    words: list[Event] = [TextArrived(text=f"words {n} of a longer answer ") for n in range(13)]
    return [
        StepStarted(number=number),
        *words,
        ReplyFinished(finish="tool_calls", calls=1),
        ToolCalled(call_id=f"c{number}", tool="read_file", arguments={"path": "a.py"}),
        ToolFinished(call_id=f"c{number}", tool="read_file", ok=True, result="a line of the file\n" * 20),
        StepFinished(number=number, seconds=1.0),
    ]


def attached(home: Home, project: Path, name: str) -> tuple[float, float]:
    """Seconds to the first frame, and to the end of the run on the screen."""
    with home.screen("watch", name, cwd=project) as view:
        view.wait_for(END)  # on the screen: the bytes may be in a frame that is not whole yet
        seen = watch(view, [(0.0, _painted), (0.0, lambda lines: any(END in line for line in lines))])
        first, state = (at - view.started if at is not None else 60.0 for at in seen)
        return first, state


def _painted(lines: list[str]) -> bool:
    return sum(len(line.replace(" ", "")) for line in lines) >= 10


def _told(folder: Path) -> list[float]:
    """Seconds from a command in the inbox to the screens of two views, the later one of both."""
    home, project = Home(folder / "told"), folder / "told" / "project"
    project.mkdir()
    found: list[float] = []
    with (
        serving({"then": {"tokens": 90_000, "rate": 50}}, folder / "told") as server,
        home.screen(*_goal(server.base_url), cwd=project) as first,
    ):
        first.wait_for_bytes(b"streaming")
        with home.screen("watch", cwd=project) as second:
            second.wait_for_bytes(b"streaming")
            journal = Journal.open(home.journals()[0])
            for number in range(61, 61 + COMMANDS):
                began = time.monotonic()
                journal.inbox.put(SetLimit(name="steps", value=number))
                shown = f"/{number}".encode()
                found.append(max(_came(view, shown, began) - began for view in (first, second)))
            journal.close()
    return found


def _came(view: Terminal, want: bytes, since: float) -> float:
    view.wait_for_bytes(want)
    pieces = [(at, data) for at, data in list(view.output) if at >= since]
    text = b""
    for at, data in pieces:
        text += re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", data)
        if want in text:
            return at
    return time.monotonic()


def _goal(base_url: str) -> list[str]:
    limits = ["--tokens", "none", "--usd", "none", "--context", "200000"]
    return ["go", "--until", "false", "--model", "fake", "--api-base", base_url, *limits]


def _streamed(folder: Path, views: int) -> float:
    """Seconds of the processor that the runner needs for one long answer, with this number of views."""
    folder.mkdir()
    home, project = Home(folder), folder / "project"
    project.mkdir()
    argv = ["run", *_goal(""), "--headless", "--json", "--steps", "1"]
    with serving({"then": {"tokens": TOKENS, "rate": RATE}}, folder) as server:
        argv[argv.index("--api-base") + 1] = server.base_url
        with home.start(*argv, cwd=project) as running:
            running.wait_event("text_arrived")
            held = holder(home.journals()[0])
            runner = psutil.Process(held.pid if held is not None else running.pid)
            watching = [home.screen("watch", cwd=project) for _ in range(views)]
            try:
                for view in watching:
                    view.wait_for_bytes(b"streaming")
                before = runner.cpu_times()
                time.sleep(6)
                after = runner.cpu_times()
            finally:
                for view in watching:
                    view.close()
            running.signal(9)
            try:
                running.finish()
            except subprocess.TimeoutExpired:
                running.signal(9)
    return (after.user + after.system) - (before.user + before.system)
