"""What tests of the journal start from."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rundry.agent.journal.journal import Journal
from rundry.agent.journal.redact import Redactor
from rundry.agent.protocol import LoopKind, ModelSpec, RunSpec


def a_spec(run_id: str = "20261121-014233-k3f9x", **more: object) -> RunSpec:
    given: dict[str, object] = {
        "loop": LoopKind.GOAL,
        "task": "fix the suite",
        "workspace": "/work",
        "model": ModelSpec(name="openai/fake"),
    }
    return RunSpec(run_id=run_id, **{**given, **more})  # pyright: ignore[reportArgumentType]


@pytest.fixture
def make_spec() -> Callable[..., RunSpec]:
    return a_spec


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal.create(tmp_path / "runs" / "20261121-014233-k3f9x.db", a_spec())
    made.redactor = Redactor([])
    yield made
    made.close()


class Child:
    """A Python process with its own hold on the journal; it says a line, we say a line."""

    def __init__(self, code: str, *arguments: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", code, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self, line: str = "") -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.kill()
        self.close()

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(30)
        self.close()
        return code

    def close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue
        self.process.wait(30)


@pytest.fixture
def child() -> Iterator[Callable[..., Child]]:
    started: list[Child] = []

    def start(code: str, *arguments: object) -> Child:
        started.append(Child(code, *arguments))
        return started[-1]

    yield start
    for one in started:
        one.kill()
