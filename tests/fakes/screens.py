"""The app on a run that is played."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from painted import painted, until
from textual.pilot import Pilot

from rundry.agent import Budget, Expected, GateMode, LoopKind, ModelSpec, RunLine, RunSpec, Survey, UserError, ViewState
from rundry.tui.app.app import RundryApp
from rundry.tui.app.main_screen import MainScreen
from rundry.tui.control.run_controller import RunController
from rundry.tui.start.run_extensions import Extensions

from .played_events import PlayedLink, Script, spec


class PlayedStart:
    """Options that are as the test says."""

    notes: list[str] = []
    blobs: Sequence[bytes] = ()
    found = Survey()
    runs: Sequence[RunLine] = ()

    def __init__(self, workspace: Path, model: str | None = "ollama_chat/qwen3:8b") -> None:
        self.workspace = workspace
        self.folder = workspace
        self.extensions = Extensions(workspace)
        self.model = ModelSpec(name=model) if model else None
        self.remembered: list[str] = []
        self.options: dict[str, object] = {}

    def choose(self, model: ModelSpec) -> None:
        self.model = model

    def set(self, name: str, value: object) -> None:
        self.options[name] = value

    def load_again(self) -> None:
        self.extensions.forget()

    def set_check(self, command: str | None) -> None:
        if command == "missing":
            raise UserError("--until 'missing' cannot be started: missing: command not found")
        self.options["until"] = () if command is None else (command,)

    def remember(self, model: ModelSpec) -> None:
        self.model = model
        self.remembered.append(model.name)

    async def survey(self) -> Survey:
        return self.found

    async def unfinished(self) -> Sequence[RunLine]:
        return self.runs

    def preview(self, task: str = "") -> ViewState:
        model = self.model
        return ViewState(
            loop=LoopKind.GOAL if self.options.get("until") else LoopKind.CHAT,
            goals=list(self.options.get("until", ())),  # type: ignore[arg-type]
            task=task,
            budget=Budget(),
            gate_mode=GateMode(self.options.get("gate", "ask")),
            model=model.name if model else "",
            effort=(model.effort if model else None) or "",
        )

    def spec(self, task: str) -> RunSpec:
        return spec(task)

    def expected(self, *, is_typing: bool) -> Expected | None:
        return Expected(model=self.model, is_typing=is_typing) if self.model is not None else None


class Stage:
    """A run with a screen on it: `play` events, look at `screen`, read `link.commands`."""

    def __init__(self, *, start: PlayedStart | None = None) -> None:
        self.link = PlayedLink()
        self.script = Script()
        self.controller = RunController(self.link, start)
        self.controller.begun = start is None
        self.app = RundryApp(self.controller)

    def play(self, *events: object) -> None:
        self.link.play(self.script.stamp(*events))  # type: ignore[arg-type]

    @property
    def screen(self) -> MainScreen:
        for screen in self.app.screen_stack:
            if isinstance(screen, MainScreen):
                return screen
        raise AssertionError("no main screen")

    def text(self) -> str:
        """What stands on the screen."""
        return painted(self.app)

    async def caught_up(self, pilot: Pilot[Any]) -> None:
        """Wait until the screen has taken every event that was played, and has handled what followed from it."""
        await until(pilot, lambda: self.link.is_read and not self.controller.is_behind)
        await pilot.pause()
