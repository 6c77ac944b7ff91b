"""List the points to which a run can be rewound: messages of the person, and steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...protocol import Rewound, Said, StepStarted

if TYPE_CHECKING:
    from ...journal.journal import Journal


@dataclass(frozen=True, slots=True)
class Point:
    """A message or a step. Rewinding restores the state before it."""

    seq: int
    at: float
    """Unix seconds."""
    text: str | None
    """Text of the message. None means a step."""
    step: int | None


def earlier_points(journal: Journal) -> list[Point]:
    """Return the points, oldest first, without those that were rewound. Raises JournalError."""
    points: list[Point] = []
    for stamped in journal.read_types((Said, StepStarted, Rewound)):
        if stamped.work is not None:
            continue
        seq, at = stamped.seq, stamped.at
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
