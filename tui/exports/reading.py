"""Read a whole run for an export, with a bounded part of it in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rundry.agent import Blocks, ViewState, as_of_now, load_older, reduce

from .samples import MeterSamples

if TYPE_CHECKING:
    from rundry.agent import Journal

_BATCH = 500
_IN_MEMORY = 300
"""Number of entries to keep; the older ones are built again, page by page."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run as its journal has it. Older blocks are rebuilt from the journal while they are iterated over."""

    state: ViewState
    began: float
    """Unix seconds."""
    samples: MeterSamples
    hide: Callable[[str], str]
    """Hides keys, also those that are in the environment only now."""


def read_run(journal: Journal) -> Recorded:
    """Read all events. Raises JournalError."""
    state = ViewState(blocks=Blocks(most=_IN_MEMORY))
    samples = MeterSamples()
    while events := journal.read(state.last_seq, _BATCH):
        for stamped in events:
            reduce(state, stamped)
            samples.take(state, stamped)
    load_older(state, journal)
    if state.outcome is not None:
        state.outcome = as_of_now(state.outcome, journal)
    return Recorded(state, float(journal.meta("created") or 0), samples, journal.redactor)
