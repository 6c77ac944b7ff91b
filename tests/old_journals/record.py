"""Record the journals of this folder with the program of commit bfd0fbbe, which compared snapshots (no layers).

In a checkout of that commit with its own .venv: `cd tests; ../.venv/bin/python record.py FOLDER` writes NAME.tar.xz for
each run. An archive has the folders that the run left: the project, the journals, and the worktrees of tries and items.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import sys
import tarfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from fakes.project import CHECK, FIX_ADD, FIX_MEAN, git, make_project
from fakes.rundry import Home
from fakes.server import Rule, ScriptedServer
from fakes.turns import Turn, call, edit, say

PLACE = Path("/tmp/recorded")
"""Where the runs take place. `opening.py` puts another folder in its place."""
PORT = 8199
AUTO = ["--headless", "--json", "--gate", "auto", "--steps", "9"]
NOTE = call("write_file", path="NOTES.md", content="# Notes\n\nLooked.\n")
COMMAND = call("run_command", command="echo x >> NOTES.md; echo made > made.txt; chmod +x NOTES.md")
HELD = Turn(text="Now I think about the rest of it", hold_after=3)


class Recorder:
    """One project and one run in it."""

    def __init__(self) -> None:
        shutil.rmtree(PLACE, ignore_errors=True)
        PLACE.mkdir()
        self.home, self.project = Home(PLACE), make_project(PLACE / "project")

    def run(self, turns: Sequence[Turn], *argv: str) -> None:
        with ScriptedServer([*turns], then=say("nothing more"), port=PORT) as server:
            ran = self.home.run(*argv, *self._model(server), cwd=self.project)
        assert ran.exit_code in (0, 3, 4, 5), ran

    def kill(self, turns: Sequence[Turn], *argv: str, at: Sequence[tuple[str, dict[str, object]]], rules=()) -> None:
        """Kill the run at the last of these events."""
        server = ScriptedServer([*turns], then=say("nothing more"), rules=rules, port=PORT)
        with server, self.home.start(*argv, *self._model(server), cwd=self.project) as running:
            for kind, fields in at:
                running.wait_event(kind, **fields)
            running.signal(signal.SIGKILL)
            running.finish()
        self.home.end_runners()

    def kill_at_gate(self) -> None:
        argv = ("run", "fix it", "--gate", "ask", "--until", CHECK)
        server = ScriptedServer([FIX_ADD, FIX_MEAN], then=say("nothing more"), port=PORT)
        with server, self.home.screen(*argv, *self._model(server), cwd=self.project):
            self._wait("proposal_opened")
            self.home.end_runners()

    def _model(self, server: ScriptedServer) -> list[str]:
        return ["--model", "fake", "--api-base", server.base_url]

    def _wait(self, kind: str) -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            for path in self.home.journals():
                with closing(sqlite3.connect(path)) as raw:
                    if raw.execute("SELECT 1 FROM events WHERE type = ?", (kind,)).fetchone():
                        return
            time.sleep(0.1)
        raise AssertionError(f"no {kind}")

    def pack(self, target: Path) -> None:
        for path in self.home.journals():
            with closing(sqlite3.connect(path)) as raw:  # one file, without a log
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with tarfile.open(target, "w:xz", preset=9) as archive:
            for name in ("project", "runs", "worktrees"):
                if (PLACE / name).exists():
                    archive.add(PLACE / name, name, filter=without_owner)


def without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if entry.name.endswith((".sample", "-wal", "-shm", ".lock")) or "__pycache__" in entry.name:
        return None
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


def done(at: Recorder) -> None:
    at.run([FIX_ADD, COMMAND, FIX_MEAN], "run", "fix it", *AUTO, "--until", CHECK)


def handoff(at: Recorder) -> None:
    argv = ["--headless", "--json", "--gate", "ask", "--on-ask", "handoff", "--until", CHECK]
    at.run([FIX_ADD, FIX_MEAN], "run", "fix it", *argv)


def gate(at: Recorder) -> None:
    at.kill_at_gate()


def command(at: Recorder) -> None:
    slow = call("run_command", command="echo x >> NOTES.md; echo made > made.txt; echo begun; sleep 600.25")
    at.kill([FIX_ADD, slow], "run", "fix it", *AUTO, "--until", CHECK, at=[("output_arrived", {})])


def a_pass(at: Recorder) -> None:
    check = ["--every", "1h", "--until", "grep -q done NOTES.md"]
    at.kill([NOTE, COMMAND, HELD], "run", "look after it", *AUTO, *check, at=[("text_arrived", {})])


def improving(at: Recorder) -> None:
    score = ["--score", "wc -c < NOTES.md", "--scope", "NOTES.md", "--goal", "min", "--patience", "1"]
    at.kill([NOTE, HELD], "run", "make it short", *AUTO, *score, at=[("text_arrived", {})])


def a_try(at: Recorder) -> None:
    writes = call("write_file", path="state.txt", content="nearly\n")
    held = Turn(text="Thinking about the other way", hold_after=0)
    rules = [Rule("You are try 1 of", writes), Rule("You are try 2 of", held)]
    tries = ["--tries", "2", "--until", "grep -qx done state.txt"]
    at.kill([], "run", "get it done", *AUTO, *tries, rules=rules, at=[("file_changed", {})])


def items(at: Recorder) -> None:
    for name in ("a.txt", "b.txt"):
        (at.project / name).write_text("old\n")
    git(at.project, "add", ".")
    git(at.project, "commit", "-qm", "Items")


def migrating(at: Recorder, *more: str) -> list[str]:
    items(at)
    return ["find", "--recipe", "migrate", "--check", "grep -q new {file}", *more, "--gate", "auto", *AUTO[:2], "*.txt"]


def an_item(at: Recorder) -> None:
    argv = migrating(at)
    at.kill([edit("a.txt", "old", "nope"), HELD], *argv, at=[("file_changed", {}), ("text_arrived", {})])


def items_at_once(at: Recorder) -> None:
    rules = [Rule("The file: a.txt", edit("a.txt", "old", "nope"))]
    at.kill([HELD], *migrating(at, "--parallel", "2"), rules=rules, at=[("file_changed", {})])


RUNS: dict[str, Callable[[Recorder], None]] = {
    "done": done,
    "handoff": handoff,
    "gate": gate,
    "command": command,
    "pass": a_pass,
    "improve": improving,
    "try": a_try,
    "item": an_item,
    "items": items_at_once,
}


def main() -> None:
    target = Path(sys.argv[1])
    os.environ["TZ"] = "UTC"
    for name in sys.argv[2:] or RUNS:
        at = Recorder()
        try:
            RUNS[name](at)
            at.pack(target / f"{name}.tar.xz")
        finally:
            at.home.end_runners()
            shutil.rmtree(PLACE, ignore_errors=True)


if __name__ == "__main__":
    main()
