"""A run by steps, while it streams, waits, sleeps and ends."""

from __future__ import annotations

from pathlib import Path

from fakes.played import started
from fakes.screens import Stage

from rundry.agent import (
    QuestionAsked,
    Reason,
    ReasoningArrived,
    RunEnded,
    Sleeping,
    StepStarted,
    TextArrived,
    ToolCalled,
    ToolFinished,
)

from .scene import BUDGET, began, staged

TASK = "fix the failing suite"
WORKED = (
    StepStarted(number=1),
    ReasoningArrived(text="I read the code before I change it."),
    TextArrived(
        text="I list the files and read the first test.\n\n| file | tests |\n| --- | ---: |\n| money.py | 11 |\n"
    ),
    ToolCalled(call_id="c1", tool="read_file", arguments={"path": "src/calc.py"}),
    ToolFinished(call_id="c1", tool="read_file", ok=True, result="", seconds=0.2, summary="37 lines"),
    ToolCalled(call_id="c2", tool="run_command", arguments={"command": "pytest -q tests/test_calc.py"}),
    ToolFinished(call_id="c2", tool="run_command", ok=False, result="3 failed\n", seconds=2.3, summary="exit 1"),
)
STREAMS = (StepStarted(number=2), TextArrived(text="Now the parser. It splits on the first colon, but keys may hold"))


def _run(*events: object) -> Stage:
    stage = Stage()
    began(stage)
    stage.play(started(TASK, budget=BUDGET, workspace="/home/me/calc"), *events)
    return stage


def _streams(_folder: Path) -> Stage:
    return _run(*WORKED, *STREAMS)


def _sleeps(_folder: Path) -> Stage:
    return _run(*WORKED, Sleeping(seconds=1500.0, why="CI takes about ten minutes", asked=1800.0))


def _asks(_folder: Path) -> Stage:
    return _run(*WORKED, QuestionAsked(question_id="q1", question="Which of the two parsers?", options=["old", "new"]))


def _ends(_folder: Path) -> Stage:
    end = RunEnded(reason=Reason.BUDGET, detail="cost: 0.498 of 0.500", complete=False, exit_code=3)
    return _run(*WORKED, end)


def _gone(_folder: Path) -> Stage:
    stage = _run(*WORKED, *STREAMS)
    stage.link.state = "gone"
    return stage


SCENES = {
    "streaming": staged(_streams, "splits on the first colon"),
    "sleeping": staged(_sleeps, "CI takes about"),
    "question": staged(_asks, "Which of the two parsers?"),
    "ended-on-budget": staged(_ends, "0.498 of 0.500"),
    "runner-gone": staged(_gone, "splits on the first colon"),
    "message-with-command": staged(_streams, "splits on the first colon", *"/lim"),
    "leave": staged(_streams, "splits on the first colon", "ctrl+q"),
}
