"""What the model of a run awaits with `wait_for`, derived from events."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...protocol import AwaitBegan, AwaitEnded, Event, Rewound, RunEnded, Stamped, ToolFinished


@dataclass(frozen=True, slots=True)
class Await:
    """A wait that has not ended."""

    began: AwaitBegan
    since: float
    """Unix time at which it began."""
    work: str | None = None
    """The work whose model waits. None means that of the run itself."""


@dataclass(slots=True)
class Awaits:
    """The waits of the models of a run."""

    open: dict[str, Await] = field(default_factory=dict[str, Await])
    """Waits that have not ended, by call id, oldest first. A resumed run continues them."""
    files: dict[str, str] = field(default_factory=dict[str, str])
    """The state of each awaited file in the newest result of a wait for it."""

    def apply(self, stamped: Stamped) -> None:
        """Fold the next event of the types in `AWAIT_EVENTS`."""
        match stamped.event:
            case AwaitBegan(call_id=call_id) as began:
                self.open[call_id] = Await(began, stamped.at, stamped.work)
            case AwaitEnded(call_id=call_id, mark=mark):
                ended = self.open.pop(call_id, None)
                if ended is not None and ended.began.what == "file":
                    self.files[ended.began.name] = mark
            case ToolFinished(call_id=call_id):
                self.open.pop(call_id, None)
            case RunEnded() | Rewound():
                self.open.clear()
            case _:
                pass


AWAIT_EVENTS = frozenset[type[Event]]((AwaitBegan, AwaitEnded, ToolFinished, RunEnded, Rewound))
"""The events that change `Awaits`; all others are ignored."""
