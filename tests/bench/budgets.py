"""200 runs with random limits, answers and bills: how near the worst of them came to its limit."""

from __future__ import annotations

import random
from pathlib import Path

from fakes.in_process.headless_run import play
from fakes.project import make_project
from fakes.server import ScriptedServer
from fakes.turns import Call, Turn

from rundry.agent.protocol import Budget

from .table import Row

RUNS = 200
IN, OUT = 3.0, 12.0
"""USD per million tokens."""


async def measure(folder: Path) -> list[Row]:
    project, runs = folder / "project", folder / "runs"
    project.mkdir()
    runs.mkdir(mode=0o700)
    make_project(project)
    of_tokens: list[float] = []
    of_usd: list[float] = []
    for seed in range(RUNS):
        rng = random.Random(seed)
        limit = Budget(steps=8, tokens=int(rng.uniform(2_500, 40_000)), usd=rng.uniform(0.01, 0.3))
        turns = [_turn(rng) for _ in range(12)]
        with ScriptedServer(turns, prompt_factor=rng.uniform(0.4, 1.05)) as server:
            await play(runs, server, project, until=["false"], budget=limit, price=(IN, OUT))
            used = [request.usage for request in server.requests]
        tokens = sum(u["total_tokens"] for u in used)
        usd = sum(IN * u["prompt_tokens"] + OUT * u["completion_tokens"] for u in used) / 1e6
        of_tokens.append(tokens / (limit.tokens or 1))
        of_usd.append(usd / (limit.usd or 1))
    return [
        Row(f"{RUNS} random runs, most of a token limit", 100 * max(of_tokens), "%", limit=100),
        Row(f"{RUNS} random runs, most of a USD limit", 100 * max(of_usd), "%", limit=100),
    ]


def _turn(rng: random.Random) -> Turn:
    calls = (Call("read_file", {"path": rng.choice(["calc/core.py", "NOTES.md", "tests/test_core.py"])}),)
    return Turn(
        tokens=rng.choice([3, 40, 400, 3_000, 20_000]),
        calls=calls if rng.random() < 0.6 else (),
        cached=rng.choice([0, 0, 200]),
        drop_after=2 if rng.random() < 0.03 else None,
    )
