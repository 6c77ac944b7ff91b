"""Journals that the real command wrote and that a kill left open, and copies of them to damage."""

from __future__ import annotations

import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

from fakes.project import CHECK, FIX_ADD, FIX_MEAN, make_project, read
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Turn


@dataclass
class Killed:
    """A run that was killed in its third call, after one edit, with its project and home."""

    home: Home
    project: Path
    run_id: str

    @property
    def journal(self) -> Path:
        return self.home.runs / f"{self.run_id}.db"

    @property
    def log(self) -> Path:
        return self.home.runs / f"{self.run_id}.db-wal"

    def copy(self, root: Path) -> Killed:
        """The same with a runs folder of its own; the project is shared."""
        home = Home(root)
        shutil.copytree(self.home.runs, home.runs)
        return Killed(home, self.project, self.run_id)

    def resume(self, *more: str, turns: tuple[Turn, ...] = (FIX_MEAN,)):
        with ScriptedServer([*turns]) as server:
            argv = ["--headless", "--json", "--model", "fake", "--api-base", server.base_url, *more]
            return self.home.run("resume", self.run_id, *argv, cwd=self.project)


def make_killed(root: Path) -> Killed:
    home = Home(root)
    project = root / "project"
    project.mkdir()
    make_project(project)
    held = Turn(text="Now I think about the rest", hold_after=3)
    with ScriptedServer([read("calc/core.py"), FIX_ADD, held]) as server:
        argv = ["--headless", "--json", "--gate", "auto", "--until", CHECK]
        model = ["--model", "fake", "--api-base", server.base_url]
        with home.start("run", "fix it", *argv, *model, cwd=project) as running:
            started = running.wait_event("run_started")
            running.wait_event("text_arrived", step=3)
            running.signal(signal.SIGKILL)
            running.finish()
    return Killed(home, project, started["run_id"])
