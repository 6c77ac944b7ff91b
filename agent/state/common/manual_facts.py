"""Actions of a person in control, and background commands, derived from events."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...protocol import (
    BackgroundEnded,
    BackgroundSaid,
    BackgroundStarted,
    EndedJob,
    Event,
    RunResumed,
    ShellFinished,
    ShellStarted,
    Stamped,
    ToolCalled,
    ToolFinished,
    WheelGiven,
    WheelTaken,
)
from ..facts.tool_actions import Action, close_action


@dataclass(slots=True)
class Background:
    """A command that runs in parallel with the steps."""

    name: str
    command: str
    since: float
    """Unix time of its start."""
    line: str = ""
    """Its newest line of output."""


@dataclass(slots=True)
class ManualControl:
    """Actions of a person in control, and background commands."""

    wheel: WheelTaken | None = None
    """Set while a person is in control."""
    wheel_seq: int = 0
    """Position at which a person took control most recently."""
    done: list[Action] = field(default_factory=list[Action])
    """The person's actions since taking control."""
    used: int = 0
    """Number of tool calls by a person so far, which numbers the next one."""
    background: dict[str, Background] = field(default_factory=dict[str, Background])
    """Running background commands, by name."""
    outputs: dict[str, str] = field(default_factory=dict[str, str])
    """Blobs of the output of ended background commands."""
    ended_with_run: list[EndedJob] = field(default_factory=list[EndedJob])
    """Background commands that still ran when the run ended."""
    shells: dict[int, ShellStarted] = field(default_factory=dict[int, ShellStarted])
    """The person's own commands that have not ended yet."""

    def apply(self, stamped: Stamped) -> None:
        """Fold the next event of the types in `MANUAL_EVENTS`."""
        match stamped.event:
            case ToolCalled() | ToolFinished():  # most of these events
                if stamped.event.by == "person":
                    self._act(stamped.event)
            case WheelTaken() as taken:
                self.wheel, self.wheel_seq = taken, stamped.seq
                self.done.clear()
            case WheelGiven():
                self.wheel = None
                self.done.clear()
            case BackgroundStarted() | BackgroundSaid() | BackgroundEnded():
                self._apply_background(stamped.event, stamped.at)
            case RunResumed():
                self.ended_with_run.clear()
            case ShellStarted(shell_id=shell_id) as shell:
                self.shells[shell_id] = shell
            case ShellFinished(shell_id=shell_id):
                self.shells.pop(shell_id, None)
            case _:
                pass

    def _apply_background(self, event: BackgroundStarted | BackgroundSaid | BackgroundEnded, at: float) -> None:
        name = event.name
        match event:
            case BackgroundStarted(command=command):
                self.background[name] = Background(name, command, at)
            case BackgroundSaid(line=line):
                if name in self.background:
                    self.background[name].line = line
            case BackgroundEnded(full=full):
                job = self.background.pop(name, None)
                if event.with_run and job is not None:
                    self.ended_with_run.append(EndedJob(name=name, command=job.command, seconds=event.seconds))
                if full is not None:
                    self.outputs[name] = full

    def _act(self, event: ToolCalled | ToolFinished) -> None:
        if isinstance(event, ToolCalled):
            self.used += 1
            self.done.append(Action(event.call_id, event.tool, event.arguments, None))
        else:
            close_action(self.done, event)


MANUAL_EVENTS = frozenset[type[Event]](
    (
        WheelTaken,
        WheelGiven,
        ToolCalled,
        ToolFinished,
        BackgroundStarted,
        BackgroundSaid,
        BackgroundEnded,
        RunResumed,
        ShellStarted,
        ShellFinished,
    )
)
"""The events that change `ManualControl`; all others are ignored."""
