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
BARE_ROUNDS, ROUNDS = 2, 6
STEADY = 4_000
"""Tokens a second of the second script: it lasts long enough to type into."""
LAST = words(TOKENS)[-1].strip()


def measure(folder: Path) -> list[Row]:
    bare = [_bare(_new(folder, f"bare{i}")) for i in range(BARE_ROUNDS)]
    fast = [_ours(_new(folder, f"fast{i}"), rate=0, every=0.03) for i in range(ROUNDS)]
    _, steady = _ours(_new(folder, "steady"), rate=STEADY, every=0.09)
    seconds, echoes = middle([s for s, _ in fast]), [key for _, keys in fast for key in keys]
    return [
        Row("20,000 tokens, until all is on screen", seconds, "s", middle(bare), "a bare litellm client", 1.3),
        Row("  in seconds", seconds, "s", limit=0.45),
        Row(f"echo of {len(echoes)} keys meanwhile, 95th percentile", 1000 * quantile(echoes, 0.95), "ms", limit=16),
        Row("  median", 1000 * middle(echoes), "ms"),
        Row(f"the same at {STEADY:,} tokens a second", 1000 * quantile(steady, 0.95), "ms", limit=16),
        Row("  median", 1000 * middle(steady), "ms"),
    ]


def _new(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


def _bare(folder: Path) -> float:
    with serving({"then": {"tokens": TOKENS}}, folder) as server:
        argv = [sys.executable, "-m", "bench.bare", server.base_url]
        done = subprocess.run(argv, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        return found["done"] - server.requests()[0]["arrived"]


def _ours(folder: Path, *, rate: float, every: float) -> tuple[float, list[float]]:
    """Seconds from the request to the last word, and the echo of each key typed in between."""
    home, project = Home(folder), folder / "project"
    project.mkdir()
    limits = ["--tokens", "none", "--usd", "none", "--context", "100000"]
    with serving({"then": {"tokens": TOKENS, "rate": rate}}, folder) as server:
        argv = ["--model", "fake", "--api-base", server.base_url, *limits]
        with home.screen(*argv, cwd=project) as terminal:
            terminal.wait_for("›")
            terminal.send("go\r")
            terminal.wait_for_bytes(b"streaming")
            typist = Typist(terminal, every)
            typist.start()
            terminal.wait_for_bytes(LAST.encode(), 120)
            typist.stop()
            terminal.wait_for(_at_the_end)
        requests = server.requests()
        arrived = requests[0]["arrived"]
        shown = watch(terminal, [(arrived, _at_the_end)])[0]
        assert shown is not None
        during = [(at, keys) for at, keys in typist.sent if at <= shown]
        typist.sent = during
        return shown - arrived, echo_seconds(terminal, typist)


def _at_the_end(lines: list[str]) -> bool:
    return any(LAST in line.split() for line in lines)
