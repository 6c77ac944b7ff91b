"""Write or remove a file, or make a journal, in a process that may crash.

As a program: `python -m fakes.killing.crashing_writes WHAT FOLDER`. FOLDER/place is the workspace, and FOLDER/runs
holds journals.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from rundry.agent.host.files.file_states import read_state
from rundry.agent.host.files.write_file import remove_file, write_file
from rundry.agent.host.leftovers import Leftovers
from rundry.agent.host.workspace_paths import Workspace

TESTS = Path(__file__).resolve().parents[2]
OLD, NEW = b"old\n" * 3000, b"new and longer\n" * 3000
SHORT = b"short\n"


def run(what: str, folder: Path, at: int = 0) -> int:
    """The exit code; `at`: the crash point."""
    env = {**os.environ, "RUNDRY_CRASH_AT": str(at), "RUNDRY_CRASH_LOG": str(folder / "points")}
    argv = [sys.executable, "-m", "fakes.killing.crashing_writes", what, str(folder)]
    done = subprocess.run(argv, cwd=TESTS, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, -9), done.stderr
    return done.returncode


def main() -> None:
    what, folder = sys.argv[1], Path(sys.argv[2])
    place, runs = folder / "place", folder / "runs"
    ws = Workspace(place, leftovers=Leftovers(runs / "a.db"))
    file = ws.resolve("file.txt")
    match what:
        case "write" | "create":
            write_file(ws, read_state(file), NEW)
        case "cut":
            write_file(ws, read_state(file), SHORT)
        case "remove":
            remove_file(ws, read_state(file))
        case "journal":
            from fakes.in_process.journals import make_journal

            make_journal(runs / "new.db").close()
        case _:
            raise ValueError(what)


if __name__ == "__main__":
    main()
