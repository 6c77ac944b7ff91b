"""Stamped events as a journal has them, and a link that plays them; for tests of views."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rundry.agent import (
    Budget,
    Command,
    Event,
    Expected,
    GateMode,
    LoopKind,
    ModelSpec,
    ProposalOpened,
    RunSpec,
    RunStarted,
    Stamped,
    WriteWatch,
)


class Script:
    """Stamps events in order; time goes by a tenth of a second each."""

    def __init__(self, at: float = 1_000_000.0) -> None:
        self.at = at
        self.step: int | None = None
        self._seq = 0

    def stamp(self, *events: Event, after: float = 0.1) -> list[Stamped]:
        found: list[Stamped] = []
        for event in events:
            self._seq += 1
            self.at += after
            found.append(Stamped(self._seq, self.at, self.step, None, event))
        return found


def started(task: str = "fix the failing suite", **changes: object) -> RunStarted:
    fields: dict[str, object] = {
        "run_id": "r1",
        "loop": LoopKind.GOAL,
        "task": task,
        "workspace": "/work",
        "model": "ollama_chat/qwen3:8b",
        "budget": Budget(),
        "journal": "/runs/r1.db",
        "local": True,
        "window": 32_768,
        "sandbox": "bubblewrap",
        **changes,
    }
    return RunStarted(**fields)  # type: ignore[arg-type]


def proposal(number: int = 1, *, lines: int = 2, **changes: object) -> ProposalOpened:
    fields: dict[str, object] = {
        "proposal_id": f"p{number}",
        "tool": "run_command",
        "command": "\n".join(f"echo {n}" for n in range(lines)),
        "digest": f"digest-{number}",
        "asks": ["commands wait in mode ask"],
        "cwd": ".",
        "sandbox": "bubblewrap",
        "rule": "allow run_command `echo`",
        **changes,
    }
    return ProposalOpened(**fields)  # type: ignore[arg-type]


class PlayedLink:
    """A view's side of a run that is played: remembers the commands, gives the events that were put on."""

    journal = None

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.begun: list[RunSpec] = []
        self.kept: list[bytes] = []
        self.resumed: list[object] = []
        self.state = "running"
        self.expected: list[tuple[str, bool]] = []
        self._news: list[Stamped] = []
        self.writes = WriteWatch(1 / 60)

    def play(self, stamped: Sequence[Stamped]) -> None:
        self._news += stamped
        self.writes.wake()

    def begin(self, spec: RunSpec, folder: Path, notes: list[str] | None = None, blobs: Sequence[bytes] = ()) -> Path:
        self.begun.append(spec)
        self.kept += blobs
        return folder / "r1.db"

    def preload(self, expected: Expected) -> None:
        self.expected.append((expected.model.name, expected.is_typing))

    def resume(self, path: Path, changes: object = None) -> None:
        self.resumed.append(changes)

    def store_image(self, data: bytes) -> None:
        self.kept.append(data)

    def put(self, command: Command) -> int:
        self.commands.append(command)
        return len(self.commands)

    def new_events(self) -> Sequence[Stamped]:
        news, self._news = self._news, []
        return news

    @property
    def is_read(self) -> bool:
        """Whether the view has taken every event that was played."""
        return not self._news

    def beat(self) -> None:
        pass

    def stored_state(self) -> None:
        """Nothing is stored: all events are played."""

    def runner_state(self) -> str:
        return self.state

    def close(self, *, stays: bool = False) -> None:
        pass


def spec(task: str = "task", **changes: object) -> RunSpec:
    fields: dict[str, object] = {
        "run_id": "r1",
        "loop": LoopKind.GOAL,
        "task": task,
        "workspace": "/work",
        "model": ModelSpec(name="fake"),
        **changes,
    }
    return RunSpec(**fields)  # type: ignore[arg-type]


__all__ = ["GateMode", "PlayedLink", "Script", "proposal", "spec", "started"]
