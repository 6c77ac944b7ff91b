"""20,000 tokens as fast as the server can: until all are on the screen, and the echo of keys meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from fakes.rundry import Home
from fakes.turns import words

from .serving import serving
from .table import Row, middle, quantile
from .typing import Typist, echo_seconds, watch

TOKENS = 20_000
ROUNDS = 3
LAST = words(TOKENS)[-1].strip()


def measure(folder: Path) -> list[Row]:
    bare: list[float] = []
    ours: list[float] = []
    echoes: list[float] = []
    for place in range(ROUNDS):
        place_folder = folder / str(place)
        place_folder.mkdir()
        bare.append(_bare(place_folder))
        seconds, keys = _ours(place_folder)
        ours.append(seconds)
        echoes += keys
    return [
        Row("20,000 tokens, until all is on screen", middle(ours), "s", middle(bare), "a bare litellm client", 1.3),
        Row("echo of a key meanwhile, 95th percentile", 1000 * quantile(echoes, 0.95), "ms", limit=50),
        Row("echo of a key meanwhile, median", 1000 * middle(echoes), "ms"),
    ]


def _bare(folder: Path) -> float:
    with serving({"then": {"tokens": TOKENS}}, folder) as server:
        argv = [sys.executable, "-m", "bench.bare", server.base_url]
        done = subprocess.run(argv, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        return found["done"] - server.requests()[0]["arrived"]


def _ours(folder: Path) -> tuple[float, list[float]]:
    """Seconds from the request to the last word, and the echo of each key typed in between."""
    home, project = Home(folder), folder / "project"
    project.mkdir()
    limits = ["--tokens", "none", "--usd", "none", "--context", "100000"]
    with serving({"then": {"tokens": TOKENS}}, folder) as server:
        argv = ["--model", "fake", "--api-base", server.base_url, *limits]
        with home.screen(*argv, cwd=project) as terminal:
            terminal.wait_for("›")
            terminal.send("go\r")
            terminal.wait_for("streaming", 60)
            typist = Typist(terminal)
            typist.start()
            terminal.wait_for(lambda lines: _at_the_end(lines), 120)
            typist.stop()
        requests = server.requests()
        arrived = requests[0]["arrived"]
        shown = watch(terminal, [(arrived, _at_the_end)])[0]
        assert shown is not None
        during = [(at, keys) for at, keys in typist.sent if at <= shown]
        typist.sent = during
        return shown - arrived, echo_seconds(terminal, typist)


def _at_the_end(lines: list[str]) -> bool:
    return any(LAST in line.split() for line in lines)
