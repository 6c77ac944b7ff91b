"""A project in which headless runs stage what they change, and `rundry apply` decides on it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from .project import make_project
from .rundry import Home, Ran
from .server import ScriptedServer
from .turns import Turn, finish

DONE = finish("told", "calc/core.py")


class StagedProject:
    """A project and a home."""

    def __init__(self, folder: Path, words: Sequence[str] = ()) -> None:
        """`words`: as of a home."""
        self.home, self.project = Home(folder, words), make_project(folder / "project")

    def run(self, turns: list[Turn], *more: str, env: Mapping[str, str] | None = None) -> Ran:
        with ScriptedServer(turns, then=DONE) as server:
            return self.home.run(*self.argv(server), *more, cwd=self.project, env=env)

    def argv(self, server: ScriptedServer) -> list[str]:
        argv = ["run", "fix", "--headless", "--json", "--steps", "6", "--model", "fake"]
        return [*argv, "--api-base", server.base_url]

    def apply(self, *more: str, env: Mapping[str, str] | None = None) -> Ran:
        return self.home.run("apply", *more, cwd=self.project, env=env)

    def shown(self) -> dict[str, object]:
        done = self.apply("--json")
        assert done.exit_code == 5, done
        return json.loads(done.stdout)

    def digest(self) -> str:
        return str(self.shown()["digest"])

    def stages(self) -> list[Path]:
        return [*self.home.runs.glob("layers/*/layers/stage-*")]


def ended(ran: Ran) -> dict[str, object]:
    return json.loads(ran.stdout.splitlines()[-1])
