"""A session with a server that is spoken to directly: the first word, the echo of keys and the processor's work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from fakes.rundry import RUNDRY, Home

from .first_frame import EMPTY
from .idle import cpu_seconds
from .serving import serving
from .stream import LAST, TOKENS as FLOOD
from .table import Row, middle, quantile
from .typing import Typist, echo_seconds

RATE, TOKENS, SECONDS = 200, 3_000, 9.0
ROUNDS = 5
LIMITS = ["--tokens", "none", "--usd", "none", "--context", "100000"]
BARE = "import asyncio, aiohttp"
SCREEN = "import textual.app, textual.widgets, textual.screen"
"""What any client and any screen of this kind have to import."""


def measure(folder: Path) -> list[Row]:
    script = folder / "empty.py"
    script.write_text(EMPTY)
    words = [_first_word(_new(folder, f"word{i}")) for i in range(ROUNDS)]
    once = [_headless(_new(folder, f"once{i}")) for i in range(ROUNDS)]
    bare = [_cpu_of([sys.executable, "-c", BARE]) for _ in range(ROUNDS)]
    screen = [
        _cpu_of([sys.executable, "-c", "import textual.app, textual.widgets, textual.screen"]) for _ in range(ROUNDS)
    ]
    rest = _at_rest(_new(folder, "rest"))
    echoes, share = _steady(_new(folder, "steady"))
    fast = [_full_speed(_new(folder, f"fast{i}")) for i in range(3)]
    return [
        Row("launch to the first word of an answer", middle(words), "s", middle(screen) + middle(bare), _FLOOR, 5),
        Row("one headless answer, processor time", middle(once), "s", middle(bare), _BARE, 6),
        Row("echo of a key at the prompt, 95th percentile", 1000 * quantile(rest, 0.95), "ms", limit=6),
        Row("  median", 1000 * middle(rest), "ms"),
        Row(f"echo of a key at {RATE} tokens a second, 95th percentile", 1000 * quantile(echoes, 0.95), "ms", limit=14),
        Row("  median", 1000 * middle(echoes), "ms"),
        Row(f"processor time for 1,000 tokens at {RATE} a second", share * 1000 / RATE, "s", middle(bare), _BARE, 5),
        Row("processor time for 1,000 tokens at full speed", middle(fast), "s", limit=0.12),
    ]  # fmt: skip


_FLOOR, _BARE = "import of textual and aiohttp", "import of asyncio and aiohttp"


def _new(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


def _first_word(folder: Path) -> float:
    home, project = Home(folder), _new(folder, "project")
    with (
        serving({"then": {"text": "ALPHAWORD and more"}}, folder) as server,
        home.screen("--model", "fake", "--api-base", server.base_url, *LIMITS, cwd=project) as terminal,
    ):
        terminal.wait_for("›")
        terminal.send("go\r")
        terminal.wait_for_bytes(b"ALPHAWORD")
        return next(at for at, data in terminal.output if b"ALPHAWORD" in data) - terminal.started


def _headless(folder: Path) -> float:
    home, project = Home(folder), _new(folder, "project")
    with serving({"then": {"text": "the answer"}}, folder) as server:
        argv = [
            str(RUNDRY),
            "run",
            "go",
            "--headless",
            "--model",
            "fake",
            "--api-base",
            server.base_url,
            "--steps",
            "1",
        ]
        return _cpu_of([*argv, *LIMITS], cwd=project, env=home.env)


def _cpu_of(argv: list[str], cwd: Path | None = None, env: dict[str, str] | None = None) -> float:
    """Seconds that a command and its children take of the processor."""
    code = (
        "import json, os, subprocess, sys; subprocess.run(json.loads(sys.argv[1]), capture_output=True); "
        "t = os.times(); print(t.children_user + t.children_system)"
    )
    outer = [sys.executable, "-c", code, json.dumps(argv)]
    done = subprocess.run(outer, cwd=cwd, env=env or dict(os.environ), capture_output=True, text=True, check=True)
    return float(done.stdout)


def _at_rest(folder: Path) -> list[float]:
    """The echo of each key at the prompt, once the runner that the first key started is ready."""
    argv = ["--model", "fake", "--api-base", "http://127.0.0.1:9/v1"]
    with Home(folder).screen(*argv, cwd=_new(folder, "project")) as terminal:
        terminal.wait_for("›")
        terminal.send("a")
        time.sleep(3)
        typist = Typist(terminal)
        typist.start()
        time.sleep(SECONDS)
        typist.stop()
        return echo_seconds(terminal, typist)


def _steady(folder: Path) -> tuple[list[float], float]:
    """The echo of each key, and the share of a core that screen and runner take."""
    home, project = Home(folder), _new(folder, "project")
    with serving({"then": {"tokens": TOKENS, "rate": RATE}}, folder) as server:
        with home.screen("--model", "fake", "--api-base", server.base_url, *LIMITS, cwd=project) as terminal:
            terminal.wait_for("›")
            terminal.send("go\r")
            terminal.wait_for_bytes(b"streaming")
            time.sleep(1)
            before, began = cpu_seconds(terminal), time.monotonic()
            typist = Typist(terminal)
            typist.start()
            time.sleep(SECONDS)
            typist.stop()
            share = (cpu_seconds(terminal) - before) / (time.monotonic() - began)
        return echo_seconds(terminal, typist), share


def _full_speed(folder: Path) -> float:
    """Seconds of processor time, of screen and runner together, for 1,000 of many tokens that come at once."""
    home, project = Home(folder), _new(folder, "project")
    with (
        serving({"then": {"tokens": FLOOD}}, folder) as server,
        home.screen("--model", "fake", "--api-base", server.base_url, *LIMITS, cwd=project) as terminal,
    ):
        terminal.wait_for("›")
        before = cpu_seconds(terminal)
        terminal.send("go\r")
        terminal.wait_for(lambda lines: any(LAST in line.split() for line in lines), 120)
        return (cpu_seconds(terminal) - before) * 1000 / FLOOD
