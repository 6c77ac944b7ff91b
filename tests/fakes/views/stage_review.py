"""The review of a stage on a screen, with entries of the test and no stage below."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from rundry.agent import Applied, Decide, EffectEntry, EntryChoice, ProposalOpened, UserError
from rundry.tui.control.review_words import Reviewed
from rundry.tui.pages.stage_page import StageScreen

from .gate_stage import NEW, OLD, GateStage


@dataclass
class PlayedReview:
    """Takes the place of `StageReview`."""

    stage: GateStage
    shown: ProposalOpened
    choices: Mapping[int, EntryChoice] = field(default_factory=dict)
    notes: Sequence[str] = ()
    refuses: str = ""
    """Why the next decision is not possible."""
    kept: list[Mapping[int, EntryChoice]] = field(default_factory=list)
    decided: list[Decide] = field(default_factory=list)
    ended: list[Reviewed | None] = field(default_factory=list)
    run_id: str = "r1"
    task: str = "fix the sums"
    is_empty: bool = False

    def content(self, sha: str | None) -> bytes | None:
        return None if sha is None else self.stage.journal.blobs.load(sha)

    def keep_choices(self, choices: Mapping[int, EntryChoice]) -> None:
        self.kept.append(choices)

    async def apply(self, decision: Decide) -> Applied:
        why, self.refuses = self.refuses, ""
        if why:
            raise UserError(why)
        self.decided.append(decision)
        return Applied(lines=["Applied: `calc.py`."], is_over=not decision.entries, skipped=bool(decision.entries))

    @asynccontextmanager
    async def opened(self, tell: Callable[[str], None]) -> AsyncIterator[PlayedReview]:
        tell("starting the sandbox (bubblewrap)")
        yield self

    def open(self) -> StageScreen:
        """Put the screen on the app."""
        screen = StageScreen(self.opened, self.task, {})  # type: ignore[arg-type]
        self.stage.app.push_screen(screen, self.ended.append)
        return screen


def several(stage: GateStage) -> list[EffectEntry]:
    """A text with three hunks, a new and a deleted file, a link, and a file that asks in every mode."""
    return [
        stage.text_entry("calc.py", OLD, NEW),
        stage.text_entry("docs/sums.md", None, "# Sums\n\nHow the sums are made.\n"),
        stage.text_entry("old.txt", "a\nb\n", None),
        EffectEntry(path="now", kind="link", change="added", target="releases/3"),
        stage.text_entry(".envrc", None, "export A=1\n", danger=True, why=["direnv runs it in your shell"]),
    ]


def review_of(stage: GateStage, *entries: EffectEntry, **more: object) -> PlayedReview:
    """A review of these entries."""
    along = {"along": more.pop("along")} if "along" in more else {}
    shown = stage.effects(*(entries or several(stage)), command="rundry apply", **along)  # type: ignore[arg-type]
    return PlayedReview(stage, shown, **more)  # type: ignore[arg-type]
