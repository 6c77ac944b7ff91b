"""What a person does with their own hands, and what runs in the background, folded from the events."""

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
    """The fold."""

    wheel: WheelTaken | None = None
    """A person drives."""
    done: list[Action] = field(default_factory=list[Action])
    """What they did since they took it."""
    used: int = 0
    """Tools that a person ever used: their calls are numbered so."""
    background: dict[str, BackgroundStarted] = field(default_factory=dict[str, BackgroundStarted])
    """What runs, by name."""
    outputs: dict[str, str] = field(default_factory=dict[str, str])
    """Blobs of what those printed that ended."""
    shells: dict[int, ShellStarted] = field(default_factory=dict[int, ShellStarted])
    """Commands of the person's own that have no end yet."""

    def apply(self, stamped: Stamped) -> None:
        """Takes in the next event, in order."""
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
