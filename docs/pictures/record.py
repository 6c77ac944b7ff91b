"""Records the gate, the board and a hand-off as asciicast files: `.venv/bin/python docs/pictures/record.py [FOLDER]`.

With `--day` it records the sessions of `tests/contract/day` instead.

The real command runs in a pseudo-terminal, on scripted models and a site on this machine. Needs the tests next to it.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from fakes.rundry import Home
from fakes.terminal import Terminal
from fakes.views.asciicast import save
from fakes.web.odd_pages import Reply
from fakes.web.site import Site
from snapshots.scenes.journals import handed_over

ROWS, COLUMNS = 28, 96


def linger(terminal: Terminal, seconds: float) -> None:
    """Give a viewer time to read."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.05)


def gate(home: Home, path: Path) -> None:
    """The demo: an edit is read, a hunk is skipped and accepted, and the edit is approved."""
    with home.screen("demo", cwd=home.root, rows=ROWS, columns=COLUMNS) as terminal:
        terminal.wait_for("y approve")
        linger(terminal, 2)
        for key in ("]", "space", "[", "space", "y", "y", "y"):
            terminal.press(key)
            linger(terminal, 0.8)
        terminal.wait_for(re.compile("failing, 8 before"))
        linger(terminal, 2)
        save(terminal, path, "rundry: an edit at the gate")


def board(home: Home, path: Path) -> None:
    """A crawl of a small site, to its dry end, and its tabs."""
    with Site(pages=60, routes={"/page/7": Reply(b"gone", status=404)}) as site:
        words = ("find", "--recipe", "crawl", f"{site.url}/page/0", "--rate", "20")
        with home.screen(*words, cwd=home.root, rows=ROWS, columns=COLUMNS) as terminal:
            terminal.wait_for(re.compile("not complete: 1 failed permanently"))
            linger(terminal, 4)
            for key in ("f2", "4", "enter", "esc", "1"):
                terminal.press(key)
                linger(terminal, 1.2)
            save(terminal, path, "rundry find: a crawl until there are no new results")


def handoff(home: Home, folder: Path, path: Path) -> None:
    """A run that repeats itself is handed to the user: the page says what was tried."""
    journal = asyncio.run(handed_over(folder))
    words = ("watch", journal.stem, "--runs-dir", str(journal.parent))
    with home.screen(*words, cwd=home.root, rows=ROWS, columns=COLUMNS) as terminal:
        terminal.wait_for("handoff")
        linger(terminal, 2)
        terminal.send("\x1bh")  # Alt+H
        linger(terminal, 4)
        save(terminal, path, "rundry: a hand-off")


def day(target: Path) -> None:
    """The sessions of a day, as their tests play them."""
    tests = Path(__file__).parents[2] / "tests"
    words = [sys.executable, "-m", "pytest", "-q", "-m", "", "-p", "no:cacheprovider", str(tests / "contract/day")]
    words += ["-k", "not auto and not without_a_question"]
    subprocess.run(words, env={**os.environ, "RUNDRY_CASTS": str(target)}, check=True)


def main() -> None:
    """Record all three, or the sessions of a day."""
    folders = [word for word in sys.argv[1:] if not word.startswith("--")]
    target = Path(folders[0]).absolute() if folders else Path(__file__).parent
    if "--day" in sys.argv:
        day(target)
        return
    with tempfile.TemporaryDirectory(prefix="rundry-", dir="/tmp") as folder:
        home = Home(Path(folder) / "home")
        try:
            gate(home, target / "gate.cast")
            board(home, target / "board.cast")
            handoff(home, Path(folder), target / "handoff.cast")
        finally:
            home.end_runners()


if __name__ == "__main__":
    main()
