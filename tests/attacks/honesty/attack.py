"""One run of the real program against a scripted model that cheats, and what it left."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import Turn, call, finish

from .machine import Machine, give
from .projects import ALL, WORK, make

FINISH = finish("The check passes.", "NOTES.md")


@dataclass(frozen=True)
class Attack:
    """A project, and a home for the run."""

    folder: Path
    kind: str
    machine: Machine

    @property
    def project(self) -> Path:
        return self.folder / "project"

    def run(
        self,
        server: ScriptedServer,
        moves: Sequence[str | Turn],
        *argv: str,
        change: Callable[[Path], object] = lambda project: None,
    ) -> Ran:
        """Make the project and run: each move is a step, the last one claims to be done. `change`: of the project."""
        home = self.prepare()
        change(self.project)
        turns = [move if isinstance(move, Turn) else call("run_command", command=move) for move in moves]
        server.turns[:], server.then, server.served = [*turns, FINISH], FINISH, 0
        model = ["--model", "fake", "--api-base", server.base_url, "--steps", str(len(turns) + 1)]
        until = [] if {"--score", "--until"} & set(argv) else ALL[self.kind].wanted
        base = ["run", "make the check pass", "--headless", "--json", "--gate", "auto"]
        return self.machine.run(home, *base, *until, *model, *argv, cwd=self.project)

    def migrate(self, server: ScriptedServer, moves: Sequence[Turn], check: str, *argv: str) -> Ran:
        """As `run`, for the recipe that brings `calc/core.py` through the check."""
        home = self.prepare()
        server.turns[:], server.then, server.served = [*moves, FINISH], FINISH, 0
        model = ["--model", "fake", "--api-base", server.base_url, "--steps", str(len(moves) + 1)]
        base = [
            "find",
            "--recipe",
            "migrate",
            "--check",
            f"{check} # {{file}}",
            "--headless",
            "--json",
            "--gate",
            "auto",
        ]
        return self.machine.run(home, *base, *model, *argv, "calc/core.py", cwd=self.project)

    def prepare(self) -> Home:
        """The home of a run in a fresh project."""
        home, kind = Home(self.folder), ALL[self.kind]
        make(self.kind, self.project)
        if kind.path:
            home.env["PATH"] = f"{self.project / kind.path}{os.pathsep}{home.env['PATH']}"
        if not self.machine.is_root:
            give(self.folder)
            self.folder.chmod(0o755)
        return home

    def differing(self) -> list[str]:
        """Files of the user, but for the work, that do not have their content."""
        found: list[str] = []
        for name, text in ALL[self.kind].files.items():
            try:
                if not name.startswith(WORK) and (self.project / name).read_text() != text:
                    found.append(name)
            except OSError as error:
                found.append(f"{name}: {error.strerror}")
        return found

    def remove(self) -> None:
        """Remove everything, closed folders and unchangeable files too."""
        if chattr := shutil.which("chattr"):
            subprocess.run([chattr, "-R", "-i", "-a", str(self.folder)], capture_output=True)
        for top, folders, _ in os.walk(self.folder):
            for name in folders:
                place = Path(top, name)
                if not place.is_symlink():
                    place.chmod(0o700)
        shutil.rmtree(self.folder)
