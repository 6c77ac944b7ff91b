"""What the tools of a run work with."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..gate import kept_from
from ..protocol import Rule
from ..workspace import Ignore, PathRefused, Sandbox, Workspace
from .arguments import AskPerson, Finish, StopCommand, UpdatePlan

if TYPE_CHECKING:
    from .fetching import Fetcher

OUTPUT = "output:"
"""Begins the path under which `read_file` reads on in an output that was too long to show."""


@dataclass(slots=True)
class ToolContext:
    """One run's surroundings of its tools."""

    workspace: Workspace
    env: Mapping[str, str]
    """Of commands."""
    sandbox: Sandbox
    """Of commands; `Sandbox()` holds nothing."""
    keep: Callable[[bytes], str]
    """Stores bytes in the journal and answers their hash."""
    load: Callable[[str], bytes]
    """The bytes of a hash. Raises KeyError."""
    seconds_left: Callable[[], float | None] = lambda: None
    """Until the run's time is up; None: no limit."""
    limit: int = 12_000
    """Characters of a result."""
    command_seconds: Callable[[], float] = lambda: 120.0
    """Time-out of a command that names none."""
    on_output: Callable[[bytes], None] | None = None
    """Hears a command's output while it runs."""
    fetcher: Fetcher | None = None
    """Asks the web; None: `fetch_url` is off."""
    background: Callable[[], Sequence[str]] = lambda: ()
    """Names of the commands that run in the background."""
    rules: Sequence[Rule] = ()
    """The person's: `deny` holds for what only looks, too."""
    read_only: Callable[[], Sequence[Path]] = lambda: ()
    """Files that decide whether the goal is met: a command may not write them where the sandbox can keep it from it."""
    live: Callable[[str], bytes | None] = lambda name: None
    """What one of them printed so far; None: this runner started none of that name."""
    ignore: Ignore = field(init=False)
    _outputs: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.ignore = Ignore(self.workspace.root)

    def remember(self, sha: str) -> str:
        """The path under which `read_file` finds this blob (a resumed run remembers its earlier outputs so)."""
        name = OUTPUT + sha[:10]
        self._outputs[name] = sha
        return name

    def remember_as(self, name: str, sha: str) -> None:
        """The same for an output that has a name."""
        self._outputs[OUTPUT + name] = sha

    def output(self, name: str) -> bytes:
        """An output that was too long to show, or of a command in the background. Raises KeyError."""
        live = self.live(name.removeprefix(OUTPUT))
        if live is not None:
            return live
        return self.load(self._outputs[name])

    def kept_from(self, tool: str, path: str | None) -> str | None:
        """The rule of the person's that keeps this looking tool from the path, in words. Never raises."""
        if not self.rules:
            return None
        paths: list[str] = []
        if path is not None and not path.startswith(OUTPUT):
            try:
                paths = [self.workspace.relative(self.workspace.resolve(path)), os.path.normpath(path)]
            except PathRefused:
                return None  # which the tool says itself
        return kept_from(self.rules, tool, paths)

    def bounded_seconds(self, seconds: float) -> float:
        """A tool's time-out: its own, or what is left of the run's time (docs/requirements.md 3.3)."""
        left = self.seconds_left()
        return seconds if left is None else max(0.1, min(seconds, left))

    def question(self, arguments: msgspec.Struct | None) -> AskPerson:
        """The arguments of `ask_person`."""
        assert isinstance(arguments, AskPerson)
        return arguments

    def finish(self, arguments: msgspec.Struct | None) -> tuple[str, list[Any]]:
        """Answer and citations of `finish`, as the model gave them."""
        assert isinstance(arguments, Finish)
        return arguments.answer, [_plain(citation) for citation in arguments.citations]

    def named(self, arguments: msgspec.Struct | None) -> str:
        """The name in the arguments of `stop_command`."""
        assert isinstance(arguments, StopCommand)
        return arguments.name

    def plan(self, arguments: msgspec.Struct | None) -> list[str]:
        """The lines of `update_plan`."""
        assert isinstance(arguments, UpdatePlan)
        return arguments.lines


def _plain(citation: object) -> object:
    built: object = msgspec.to_builtins(citation)
    return built
