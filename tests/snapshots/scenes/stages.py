"""What a command would change, and what a run staged: the list of entries at the gate and in a review, and a stage."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from fakes.played_events import started
from fakes.pressing import press
from fakes.screens import Stage
from fakes.views.gate_stage import GateStage
from fakes.views.stage_review import review_of, several
from painted import shows, until
from textual.pilot import Pilot

from rundry.agent import (
    EffectEntry,
    EntryChoice,
    FileChanged,
    GateMode,
    GateModeChanged,
    LoopKind,
    Reason,
    RunEnded,
    StageBegan,
    Waiting,
)
from rundry.tui.pages.stage_page import LeaveStageScreen

from .scene import BUDGET, Factory, Scene, began, staged
from .sessions import TASK, WORKED

ALONG = "12 files of build, built, not reviewed; 3 new ignored files"
IN_STAGE = (
    GateModeChanged(mode=GateMode.STAGE),
    StageBegan(folder="stage-1"),
    *(FileChanged(path=f"src/{name}.py", by="model", before="1", after="2", staged=True) for name in "abc"),
)


def _many(stage: GateStage) -> list[EffectEntry]:
    """An install, a commit, and more files than are listed one by one."""
    return [
        *(stage.text_entry(f"src/shop/views/page{n}.py", "a\n", "b\nc\n") for n in range(18)),
        *(stage.text_entry(f"docs/page{n}.md", None, "new\n") for n in range(9)),
        EffectEntry(path="node_modules", kind="install", change="added", count=812, lines=["812 new"]),
        EffectEntry(path="", kind="git", lines=["main: 5afc461 → 81e02b7, 1 commit"]),
    ]


def _effects(kind: str, *keys: str) -> Factory:
    @asynccontextmanager
    async def scene(folder: Path) -> AsyncIterator[Scene]:
        stage = GateStage(folder)
        began(stage)
        entries = several(stage) if kind == "several" else _many(stage)

        async def reach(pilot: Pilot[object]) -> None:
            run = started(TASK, budget=BUDGET, workspace="/home/me/calc", gate=GateMode.EFFECTS)
            await stage.opened(pilot, run, *WORKED, stage.effects(*entries, along=ALONG))
            await press(pilot, *keys)

        yield Scene(stage.app, reach)  # type: ignore[arg-type]
        stage.journal.close()

    return scene


def _review(*keys: str, notes: Sequence[str] = ()) -> Factory:
    @asynccontextmanager
    async def scene(folder: Path) -> AsyncIterator[Scene]:
        stage = GateStage(folder)
        began(stage)
        choices = {2: EntryChoice(skip=True, reason="still needed")}
        review = review_of(stage, *several(stage), along=ALONG, notes=notes, choices=choices)

        async def reach(pilot: Pilot[object]) -> None:
            stage.play(started(TASK, budget=BUDGET, workspace="/home/me/calc"), *IN_STAGE)
            screen = review.open()
            await until(pilot, lambda: screen.gate.arming.painted is not None and screen.gate.has_focus_within)  # type: ignore[arg-type]
            await press(pilot, *keys)

        yield Scene(stage.app, reach)  # type: ignore[arg-type]
        stage.journal.close()

    return scene


def _chat(_folder: Path) -> Stage:
    stage = Stage()
    began(stage)
    run = started("hello", loop=LoopKind.CHAT, budget=BUDGET, workspace="/home/me/calc")
    stage.play(run, *IN_STAGE, *WORKED, Waiting(why="message"))
    return stage


def _ended(_folder: Path) -> Stage:
    stage = Stage()
    began(stage)
    files = [f"src/{name}.py" for name in "abc"]
    end = RunEnded(
        reason=Reason.HANDOFF,
        detail="3 files staged, see `rundry apply r1` (done: check passed: pytest -q)",
        complete=False,
        exit_code=5,
        staged=files,
    )
    stage.play(started(TASK, budget=BUDGET, workspace="/home/me/calc"), *IN_STAGE, *WORKED, end)
    return stage


def _leaving() -> Factory:
    @asynccontextmanager
    async def scene(folder: Path) -> AsyncIterator[Scene]:
        stage = _chat(folder)

        async def reach(pilot: Pilot[object]) -> None:
            await shows(pilot, "3 files staged")
            stage.app.push_screen(LeaveStageScreen("3 files staged"))
            await shows(pilot, "What should happen to it?")

        yield Scene(stage.app, reach)  # type: ignore[arg-type]

    return scene


SCENES = {
    "gate-effects": _effects("several"),
    "gate-effects-many": _effects("many"),
    "stage-review": _review("down", notes=["never applied: run.sock: a socket"]),
    "stage-review-entry": _review("enter"),
    "stage-chat": staged(_chat, "3 files staged"),
    "stage-ended": staged(_ended, "a apply"),
    "stage-leaving": _leaving(),
}
