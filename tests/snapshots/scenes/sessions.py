"""A run by steps, while it streams, waits, sleeps and ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
from fakes.played_events import started
from fakes.screens import Stage
from fakes.views.judged_ends import ENDS, JUDGED, JUDGING, RED

from rundry.agent import (
    AwaitBegan,
    Better,
    Budget,
    ChildFinished,
    ChildSpent,
    ChildStarted,
    ChildWaiting,
    EditFormatChosen,
    EndedJob,
    FileChanged,
    FixSpec,
    ImproveSpec,
    LoopKind,
    PassFinished,
    PassStarted,
    PlanChanged,
    QuestionAsked,
    Reason,
    ReasoningArrived,
    Restarted,
    RunEnded,
    ScoreMeasured,
    Sleeping,
    Spent,
    StepFinished,
    StepStarted,
    Target,
    TextArrived,
    Tokens,
    ToolCalled,
    ToolFinished,
)
from rundry.agent.protocol import EffectsAccepted, EffectsApplied

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
PLAN = [
    "[x] read the tests",
    "[ ] add a test for a key with a colon",
    "[>] split only on the first colon, and keep the old error text for everything that has none",
    "[ ] run the suite",
]
STREAMS = (StepStarted(number=2), TextArrived(text="Now the parser. It splits on the first colon, but keys may hold"))


def _run(*events: object) -> Stage:
    stage = Stage()
    began(stage)
    stage.play(started(TASK, budget=BUDGET, workspace="/home/me/calc"), *events)
    return stage


def _streams(_folder: Path) -> Stage:
    return _run(*WORKED, *STREAMS)


def _plans(_folder: Path) -> Stage:
    return _run(*WORKED, PlanChanged(lines=PLAN), *STREAMS)


def _changes(_folder: Path) -> Stage:
    """Files that a command changed, and those that are only counted, in a layer and without layers."""
    words = ["3 new ignored files (build.log and 2 more)", "target: 340 files, built, not reviewed"]
    return _run(
        StepStarted(number=1),
        ToolCalled(call_id="c1", tool="run_command", arguments={"command": "cargo build 2>&1 | tee build.log"}),
        EffectsAccepted(
            order="o1", rows="r1", command="cargo build", files=344, shown=1, also=words[:1], built=words[1:]
        ),
        FileChanged(path="Cargo.lock", by="command", before="b1", after="b2", added=4, removed=1),
        EffectsApplied(order="o1", conflicts=["src/main.rs: the user changed it", "src/lib.rs: the user changed it"]),
        ToolFinished(call_id="c1", tool="run_command", ok=True, result="", seconds=2.3, summary="exit 0"),
        ToolCalled(call_id="c2", tool="run_command", arguments={"command": "date > now.log"}),
        EffectsAccepted(
            order="o2", rows="r2", command="date", files=1, built=["1 new ignored file (now.log)"], in_place=True
        ),
        EffectsApplied(order="o2"),
        ToolFinished(call_id="c2", tool="run_command", ok=True, result="", seconds=0.1, summary="exit 0"),
    )


def _sleeps(_folder: Path) -> Stage:
    return _run(*WORKED, Sleeping(seconds=1500.0, why="CI takes about ten minutes", asked=1800.0))


def _awaits(_folder: Path) -> Stage:
    """A person is awaited, and nothing limits that."""
    return _run(
        *WORKED,
        ToolCalled(call_id="c3", tool="wait_for", arguments={"person": "start the emulator"}),
        AwaitBegan(call_id="c3", what="person", name="start the emulator", counts=False),
    )


def _ends_with_jobs(_folder: Path) -> Stage:
    jobs = [EndedJob(name="web", command="npm run dev", seconds=95.0)]
    end = RunEnded(reason=Reason.ANSWERED, detail="in text", complete=True, exit_code=0, ended_jobs=jobs)
    return _run(*WORKED, end)


def _asks(_folder: Path) -> Stage:
    return _run(*WORKED, QuestionAsked(question_id="q1", question="Which of the two parsers?", options=["old", "new"]))


def _ends(_folder: Path) -> Stage:
    end = RunEnded(reason=Reason.BUDGET, detail="cost: 0.498 of 0.500", complete=False, exit_code=3)
    return _run(*WORKED, end)


def _judges(_folder: Path) -> Stage:
    return _run(*WORKED, JUDGING)


def _ends_judged(name: str) -> Callable[[Path], Stage]:
    """A run that ended with this verdict."""
    return lambda _folder: _run(*WORKED, JUDGING, JUDGED if ENDS[name].complete else RED, ENDS[name])


TARGETS = ("raw string in orders.search", "table name from the header", "order by from a cookie")


def _child(number: int) -> ChildStarted:
    run_id = f"20261121-01423{number}-k3f9x"
    return ChildStarted(
        number=number, run_id=run_id, journal=f"/runs/{run_id}.db", loop=LoopKind.GOAL, about=f"f{number}",
        title=TARGETS[number - 1], budget=Budget(tokens=66_000),
    )  # fmt: skip


def _fixes(_folder: Path) -> Stage:
    """A fix run whose first child is done, and whose second one waits at its gate."""
    first, second = _child(1), _child(2)
    spent = Spent(steps=3, tokens=Tokens(12_000, 800), usd=0.02)
    done = ChildFinished(
        number=1,
        run_id=first.run_id,
        reason=Reason.DONE,
        detail="check passed: grep -q good a.py",
        complete=True,
        exit_code=0,
    )
    stage = Stage()
    began(stage)
    targets = [Target(key=f"f{n}", title=title, task=title, until=["true"]) for n, title in enumerate(TARGETS, 1)]
    fix = FixSpec(source="20261121-014100-k3f9x", targets=targets)
    run = started("fix 3 findings", loop=LoopKind.FIX, fix=fix, budget=BUDGET, workspace="/home/me/shop")
    stage.play(run, first, ChildSpent(run_id=first.run_id, spent=spent), done, second)
    stage.play(ChildWaiting(number=2, run_id=second.run_id, why="gate"))
    return stage


def _passes(_folder: Path) -> Stage:
    """An improve run whose passes are goal runs: the first one was kept, and the second one works."""
    kept = PassFinished(number=1, verdict="kept", why="score 41, before 52", commit="5afc461c0d1e")
    first, second = (msgspec.structs.replace(_child(n), about="", title="make it faster") for n in (1, 2))
    ended = ChildFinished(
        number=1, run_id=first.run_id, reason=Reason.DONE, detail="check passed: pytest -q", complete=True, exit_code=0
    )
    spec = ImproveSpec(score="./bench.sh", goal=Better.MIN, bounded=True, pass_loop=LoopKind.GOAL)
    stage = Stage()
    began(stage)
    run = started("make it faster", loop=LoopKind.IMPROVE, improve=spec, budget=BUDGET, workspace="/home/me/shop")
    stage.play(run, ScoreMeasured(score=52, best=52, kept=True, stale_passes=0))
    stage.play(PassStarted(number=1, fresh=True), first, ended)
    stage.play(ScoreMeasured(score=41, best=41, kept=True, stale_passes=0, number=1), kept)
    stage.play(PassStarted(number=2, fresh=True), second)
    return stage


def _called(_folder: Path) -> Stage:
    """A chat whose model started two child runs: the first one waits at its gate, and the second one has answered."""
    names = ("rename the option", "write the docs")
    first, second = (
        msgspec.structs.replace(_child(n), about="", title=names[n - 1], call_id=f"call_1_{n}") for n in (1, 2)
    )
    spent = Spent(steps=3, tokens=Tokens(12_000, 800), usd=0.02)
    ended = ChildFinished(
        number=2,
        run_id=second.run_id,
        reason=Reason.ANSWERED,
        detail="the model answered",
        complete=True,
        exit_code=0,
        said="The page has a part about it.",
    )
    stage = Stage()
    began(stage)
    stage.play(started("rename --dry to --dry-run", loop=LoopKind.CHAT, budget=BUDGET, workspace="/home/me/shop"))
    stage.play(StepStarted(number=1))
    for number, name in enumerate(names, 1):
        stage.play(ToolCalled(call_id=f"call_1_{number}", tool="start_child", arguments={"name": name, "task": name}))
    stage.play(first, second, ChildSpent(run_id=second.run_id, spent=spent), ended)
    stage.play(ChildWaiting(number=1, run_id=first.run_id, why="gate"))
    return stage


def _third_try(_folder: Path) -> Stage:
    """A goal run in a file format that started over twice."""
    stage = Stage()
    began(stage)
    stage.play(started(TASK, budget=BUDGET, workspace="/home/me/calc", restarts=5))
    stage.play(EditFormatChosen(format="functions", why="qwen3:8b has 8.2 billion parameters"))
    for number, heat in ((1, 0.4), (2, 0.6)):
        why = "the check fails (2 failing, 9 passed)"
        stage.play(StepStarted(number=number), StepFinished(number=number, seconds=7.0))
        stage.play(Restarted(number=number, why=why, base=0, format="functions", temperature=heat))
    stage.play(StepStarted(number=3), TextArrived(text="The sign is wrong in add."))
    return stage


def _gone(_folder: Path) -> Stage:
    stage = _run(*WORKED, *STREAMS)
    stage.link.state = "gone"
    return stage


SCENES = {
    "streaming": staged(_streams, "splits on the first colon"),
    "plan": staged(_plans, "splits on the first colon"),
    "changed-files": staged(_changes, "date > now.log"),
    "sleeping": staged(_sleeps, "CI takes about"),
    "waiting": staged(_awaits, "start the emulator"),
    "ended-with-jobs": staged(_ends_with_jobs, "npm run dev"),
    "question": staged(_asks, "Which of the two parsers?"),
    "ended-on-budget": staged(_ends, "0.498 of 0.500"),
    "judging": staged(_judges, "once more without"),
    "ended-judged": staged(_ends_judged("judged"), "next task"),
    "ended-with-undecided": staged(_ends_judged("undecided"), "next task"),
    "ended-on-undecided": staged(_ends_judged("rests"), "next task"),
    "third-try": staged(_third_try, "The sign is wrong"),
    "runner-gone": staged(_gone, "splits on the first colon"),
    "message-with-command": staged(_streams, "splits on the first colon", *"/lim"),
    "child-runs": staged(_fixes, "table name from the header"),
    "called-children": staged(_called, "write the docs"),
    "pass-runs": staged(_passes, "score 41, before 52"),
    "leave": staged(_streams, "splits on the first colon", "ctrl+q"),
}
