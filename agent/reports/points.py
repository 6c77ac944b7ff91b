"""Points to which a run can be rewound: the person's messages, and steps that were not rewound."""

from __future__ import annotations

from dataclasses import dataclass

from ..journal.encoding import decode
from ..journal.journal import Journal
from ..protocol import Rewound, Said, Stamped, StepStarted


@dataclass(frozen=True, slots=True)
class Point:
    """A point in the run; rewinding restores the state before it."""

    seq: int
    at: float
    """Unix time."""
    text: str | None
    """Text of the message; None: a step."""
    step: int | None


def earlier_points(journal: Journal) -> list[Point]:
    """Return the points, oldest first, without those that were rewound. Reads no other events. Raises JournalError."""
    points: list[Point] = []
    kinds = [str(kind.__struct_config__.tag) for kind in (Said, StepStarted, Rewound)]
    query = "SELECT seq, at, step, work, type, body FROM events WHERE type IN (?, ?, ?) AND work IS NULL ORDER BY seq"
    for seq, at, step, work, kind, body in journal.rows(query, kinds):
        stamped = Stamped(seq, at, step, work, decode(kind, body))
        match stamped.event:
            case Said(text=text):
                points.append(Point(seq, at, text, None))
            case StepStarted(number=number):
                points.append(Point(seq, at, None, number))
            case Rewound(upto=upto):
                points = [point for point in points if point.seq < upto]
            case _:
                pass
    return points
