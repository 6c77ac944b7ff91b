"""Actions of a person in control, and background commands, derived from events."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..protocol import (
    BackgroundEnded,
    BackgroundStarted,
    ShellFinished,
    ShellStarted,
    Stamped,
    ToolCalled,
    ToolFinished,
    WheelGiven,
    WheelTaken,
)
from .actions import Action, close_action


@dataclass(slots=True)
class Hands:
    """Actions of a person in control, and background commands."""

    wheel: WheelTaken | None = None
    """Set while a person is in control."""
    done: list[Action] = field(default_factory=list[Action])
    """The person's actions since taking control."""
    used: int = 0
    """Number of tool calls by a person so far, which numbers the next one."""
    background: dict[str, BackgroundStarted] = field(default_factory=dict[str, BackgroundStarted])
    """Running background commands, by name."""
    outputs: dict[str, str] = field(default_factory=dict[str, str])
    """Blobs of the output of ended background commands."""
    shells: dict[int, ShellStarted] = field(default_factory=dict[int, ShellStarted])
    """The person's own commands that have not ended yet."""

    def apply(self, stamped: Stamped) -> None:
        """Fold the next event into this state."""
        match stamped.event:
            case WheelTaken() as taken:
                self.wheel = taken
                self.done.clear()
            case WheelGiven():
                self.wheel = None
                self.done.clear()
            case ToolCalled(by="person", call_id=call_id, tool=tool, arguments=arguments):
                self.used += 1
                self.done.append(Action(call_id, tool, arguments, None))
            case ToolFinished(by="person") as finished:
                close_action(self.done, finished)
            case BackgroundStarted(name=name) as started:
                self.background[name] = started
            case BackgroundEnded(name=name, full=full):
                self.background.pop(name, None)
                if full is not None:
                    self.outputs[name] = full
            case ShellStarted(shell_id=shell_id) as shell:
                self.shells[shell_id] = shell
            case ShellFinished(shell_id=shell_id):
                self.shells.pop(shell_id, None)
            case _:
                pass
