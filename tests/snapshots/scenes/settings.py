"""The pages of `/settings` and `/doctor`, with data that is the same on every machine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from fakes.providers.surveys import HOSTED, LOCAL
from fakes.screens import PlayedStart, Stage
from painted import shows
from textual.pilot import Pilot
from textual.screen import ModalScreen

from rundry.agent import Fitness, Sandbox, Survey, load_settings
from rundry.agent.layers.remedies import Remedy
from rundry.agent.sandbox.probe.run_attacks import ProbeResult
from rundry.tui.pages.doctor_page import DoctorPicker
from rundry.tui.pages.settings_page import SettingsPicker
from rundry.tui.start.connected import NOT_TRUSTED, Connected, Surroundings
from rundry.tui.start.machine_checkup import Checkup

from .scene import Factory, Scene


def _page(make: Callable[[Path], ModalScreen[str | None]], then: str) -> Factory:
    """A page above the first screen: open it, wait for `then`."""

    @asynccontextmanager
    async def scene(folder: Path) -> AsyncIterator[Scene]:
        stage = Stage(start=PlayedStart(folder))

        async def reach(pilot: Pilot[object]) -> None:
            await shows(pilot, "ask")
            stage.app.push_screen(make(folder))
            await shows(pilot, then)

        yield Scene(stage.app, reach)  # type: ignore[arg-type]

    return scene


def _settings(folder: Path) -> SettingsPicker:
    (folder / ".rundry.toml").write_text("[budget]\nsteps = 7\n")
    env = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"), "RUNDRY_GATE": "edits"}
    flags = {"until": ("pytest -q", "ruff check .")}
    return SettingsPicker(load_settings(flags, cwd=folder, env=env, trust=True), "~/.config/rundry/config.toml")


def _sandbox() -> Sandbox:
    """A sandbox that gives all guarantees but the last."""
    held = [one.name for one in Sandbox("bubblewrap").missing()][:-1]
    return Sandbox("bubblewrap", probed=ProbeResult(dict.fromkeys(held, "held")))


def _doctor(_folder: Path) -> DoctorPicker:
    found = Checkup(
        places=[
            "folder     ~/project",
            "config     ~/.config/rundry/config.toml",
            "journals   ~/.local/share/rundry/runs",
        ],
        sandbox=_sandbox(),
        layers=Fitness(step="overlay", why="No such device", remedy=Remedy("Load it.", ("sudo modprobe overlay",))),
        units="copies of this folder (1,240 files, 31.2 MB each): a stage, passes, tries, views of the judge",
        survey=Survey(servers=[LOCAL], keys=[HOSTED]),
        unseen=["EDITOR", "LS_COLORS", "SSH_AUTH_SOCK"],
        surroundings=Surroundings(
            servers=[
                Connected("search", "https://mcp.example.org/mcp", trusted=True),
                Connected("tickets", "tickets-server --stdio", False, NOT_TRUSTED),
            ],
            hooks=[Connected("after-edit", "ruff format $RUNDRY_PATH", trusted=True)],
            otel="http://127.0.0.1:4318",
        ),
        missing=["git is not installed: changes made by commands cannot be undone"],
        mistakes=["[keys] undoo: there is no such action"],
    )

    async def check() -> Checkup:
        return found

    return DoctorPicker(check())


SCENES = {
    "settings": _page(_settings, "change it:"),
    "doctor": _page(_doctor, "git is not installed"),
}
