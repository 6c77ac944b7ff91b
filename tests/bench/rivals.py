"""The start of a session next to other programs in the same run: first frame, first word, processor time, memory.

`RUNDRY_RIVALS` is a folder in which `npm install` put them: codex/ (@openai/codex), claude/ (@anthropic-ai/claude-code)
and pi/ (@mariozechner/pi-coding-agent). Those that are not there are left out; all take turns, five times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from fakes.rundry import RUNDRY, Home
from fakes.terminal import Terminal

from .rival_server import WORD
from .table import Row, middle
from .typing import watch

ROUNDS = 5
SETTLE = 4.0
"""Seconds after the start of a program when its processor time and memory are read."""
TYPED = "qzx"
ABOUT = """Each program starts in the same folder and against the same server, which answers one word. "First word" is
from the launch to the word on the screen; the message is typed as soon as keys show. Processor time and memory are
those of all processes of the program, 4 s after its start. `RUNDRY_RIVALS` names the folder into which `npm install`
put each of them: `codex/` @openai/codex, `claude/` @anthropic-ai/claude-code, `pi/` @mariozechner/pi-coding-agent."""


@dataclass
class Program:
    """How a program is started, and what was measured."""

    name: str
    argv: list[str]
    env: dict[str, str]
    frames: list[float] = field(default_factory=list)
    words: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)


def measure(folder: Path) -> list[Row]:
    project = folder / "project"
    project.mkdir()
    with _serving() as port:
        programs = [_rundry(folder, port), *_rivals(folder, project, port)]
        for program in programs:
            _start(program, project)  # the first start sets up a home, and is not counted
            _say(program, project)
        for each in programs:
            for values in (each.frames, each.words, each.seconds, each.megabytes):
                values.clear()
        for _ in range(ROUNDS):
            for program in programs:
                _start(program, project)
                _say(program, project)
    ours, *others = programs
    return [row for other in others for row in _rows(ours, other)] or _rows(ours, None)


def _rows(ours: Program, other: Program | None) -> list[Row]:
    name = "" if other is None else other.name
    goals = {"frames": 0.8, "words": 0.8, "seconds": 3.0} if name == "codex" else {}

    def row(what: str, values: str, unit: str, scale: float = 1.0, limit: float | None = None) -> Row:
        base = None if other is None else scale * middle(getattr(other, values))
        return Row(what, scale * middle(getattr(ours, values)), unit, base, name, goals.get(values, limit))

    return [
        row("first frame", "frames", "ms", 1000),
        row("launch to the first word", "words", "s"),
        row("processor time until the prompt", "seconds", "s"),
        row("memory at the prompt (PSS)", "megabytes", "MB"),
    ]


def _start(program: Program, project: Path) -> None:
    with Terminal(program.argv, env=program.env, cwd=project) as terminal:
        terminal.wait_for(_painted)
        time.sleep(max(0.0, terminal.started + SETTLE - time.monotonic()))
        tree = terminal.tree()
        painted = watch(terminal, [(0.0, _painted)])[0]
        assert painted is not None
        program.frames.append(painted - terminal.started)
        program.seconds.append(sum(_seconds(process) for process in tree))
        program.megabytes.append(sum(process.memory_full_info().pss for process in tree) / 1e6)


def _say(program: Program, project: Path) -> None:
    with Terminal(program.argv, env=program.env, cwd=project) as terminal:
        terminal.wait_for(_painted)
        while TYPED not in terminal.text():  # keys that come too early are lost in some programs
            if terminal.has_echo_off():
                terminal.send(TYPED)
            time.sleep(0.1)
        terminal.send("\r")
        terminal.wait_for_bytes(WORD.encode())
        said = next(at for at, data in terminal.output if WORD.encode() in data)
        program.words.append(said - terminal.started)


def _painted(lines: list[str]) -> bool:
    return sum(len(line.replace(" ", "")) for line in lines) >= 10


def _seconds(process: psutil.Process) -> float:
    return sum(process.cpu_times())


@contextmanager
def _serving() -> Iterator[int]:
    argv = [sys.executable, "-m", "bench.rival_server"]
    with subprocess.Popen(argv, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def _rundry(folder: Path, port: int) -> Program:
    argv = [str(RUNDRY), "--model", "fake", "--api-base", f"http://127.0.0.1:{port}/v1", "--usd", "none"]
    return Program("rundry", argv, Home(folder).env)


def _rivals(folder: Path, project: Path, port: int) -> Iterator[Program]:
    installed = os.environ.get("RUNDRY_RIVALS")
    settings = {"codex": _codex, "claude": _claude, "pi": _pi}
    for name, configure in settings.items():
        program = Path(installed or os.devnull) / name / "node_modules" / ".bin" / name
        if program.exists():
            home = folder / name
            home.mkdir()
            env = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "NO_PROXY": "127.0.0.1"}
            words, more = configure(home, project, port)
            yield Program(name, [str(program), *words], {**env, **more})


def _codex(home: Path, project: Path, port: int) -> tuple[list[str], Mapping[str, str]]:
    _write(
        home / ".codex/config.toml",
        f'model = "fake"\nmodel_provider = "fake"\ncheck_for_update_on_startup = false\n'
        f'[model_providers.fake]\nname = "fake"\nbase_url = "http://127.0.0.1:{port}/v1"\nwire_api = "responses"\n'
        f'[projects."{project}"]\ntrust_level = "trusted"\n',
    )
    return [], {}


def _claude(home: Path, project: Path, port: int) -> tuple[list[str], Mapping[str, str]]:
    settings = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": ["sk-fake"]},
        "projects": {str(project): {"hasTrustDialogAccepted": True}},
    }
    _write(home / ".claude.json", json.dumps(settings))
    return [], {
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
        "ANTHROPIC_API_KEY": "sk-fake",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def _pi(home: Path, project: Path, port: int) -> tuple[list[str], Mapping[str, str]]:
    model = {
        "id": "fake",
        "name": "fake",
        "reasoning": False,
        "input": ["text"],
        "contextWindow": 1_000_000,
        "maxTokens": 100_000,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
    }
    server = {
        "baseUrl": f"http://127.0.0.1:{port}/v1",
        "api": "openai-completions",
        "apiKey": "x",
        "models": [model],
    }
    _write(home / ".pi/agent/models.json", json.dumps({"providers": {"fake": server}}))
    return ["--provider", "fake", "--model", "fake"], {"PI_OFFLINE": "1"}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
