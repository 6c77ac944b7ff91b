"""A migration of 64 files with four worktrees against the same one without: a check and an edit of a second each."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from fakes.in_process.headless_run import spec_of
from fakes.killing.killed import TESTS
from fakes.project import git
from fakes.server import Rule, ScriptedServer
from fakes.turns import edit

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Budget, FinderSpec, LoopKind, Recipe

from ..table import Row

FILES = 64
TREES = 4
CHECK = "sleep 1; grep -q new {file}"


def measure(folder: Path) -> list[Row]:
    """Run both in the same minutes, on the same server."""
    names = [f"f{number:02}.txt" for number in range(FILES)]
    rules = [Rule(rf"The file: {name}", replace(edit(name, "old", "new"), delay=1.0)) for name in names]
    with ScriptedServer(rules=rules) as server:
        parallel, alone = (_seconds(folder / str(trees), server, names, trees) for trees in (TREES, 1))
    return [Row(f"migrate {FILES} files, {TREES} worktrees", parallel, "s", alone, "one at a time", limit=1 / 2.5)]


def _seconds(folder: Path, server: ScriptedServer, names: list[str], trees: int) -> float:
    place, runs = folder / "place", folder / "runs"
    place.mkdir(parents=True)
    runs.mkdir(mode=0o700)
    for name in names:
        (place / name).write_text(f"{name}: old\n")
    git(place, "init", "-q")
    git(place, "add", ".")
    git(place, "commit", "-qm", "start")
    works = 1 if trees == 1 else 2 * trees
    finder = FinderSpec(
        recipe=Recipe.MIGRATE, check=CHECK, globs=["*.txt"], parallel=trees, concurrency=works, sceptics=0
    )
    budget = Budget(steps=10 * FILES)
    spec = spec_of(server, place, task="fix", loop=LoopKind.UNTIL_DRY, finder=finder, budget=budget)
    path = runs / "run.db"
    Journal.create(path, spec).close()
    began = time.monotonic()
    command = [sys.executable, "-m", "fakes.killing.killed", str(path), "0"]
    done = subprocess.run(command, cwd=TESTS, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "dry", done.stdout
    assert all((place / name).read_text() == f"{name}: new\n" for name in names)
    return time.monotonic() - began
