"""Show the tries of a pass: name, end and score."""

from __future__ import annotations

from typing import assert_never

from ...protocol import Stamped, TryChosen, TryFinished, TryMeasured, TryStarted, candidate_of
from ..state import ViewState
from .blocks import note
from .numbers import plural

TRIES = (TryStarted, TryFinished, TryMeasured, TryChosen)


def try_label(work: str | None) -> str:
    """Return a label such as `try 2` if the event or entry belongs to a try; otherwise nothing."""
    candidate = candidate_of(work)
    return "" if candidate is None else f"try {candidate}"


def see_try(state: ViewState, stamped: Stamped, event: TryStarted | TryFinished | TryMeasured | TryChosen) -> None:
    """Show the start, end, score or choice of a try."""
    who = f"try {event.candidate} of {event.tries}"
    match event:
        case TryStarted():
            state.trying[stamped.work or ""] = who
        case TryFinished():
            state.trying.pop(stamped.work or "", None)
            right = f"{plural(len(event.files), 'file')}, patch kept" if event.patch is not None else "nothing changed"
            line = note(state, stamped, f"{who} ended: {event.fault or event.why}", right=right)
            kept = [] if event.patch is None else [f"the patch is in the journal: {event.patch}"]
            line.detail = "\n".join([*event.files, *kept])
        case TryMeasured():
            spread = "" if event.noise is None else f" ± {event.noise:g} (median of {len(event.values)})"
            score = "not measured" if event.score is None else f"score {event.score:g}{spread}"
            note(state, stamped, f"{who}: {score}", right=event.why)
        case TryChosen():
            note(state, stamped, f"{who} is the best: its change is applied and measured again")
        case _:
            assert_never(event)
