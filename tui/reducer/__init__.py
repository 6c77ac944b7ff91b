"""Events into a `ViewState`: pure, in order, one way for live, attached and replayed runs."""

from __future__ import annotations

from collections.abc import Iterable

from rundry.agent import ItemDuplicate, Stamped

from ..state import ViewState
from .finder import FINDER, see_finder, see_flights
from .handoff import HANDOFF, see_handoff
from .hands import HANDS, see_hands
from .person import PERSON, see_person
from .run import RUN, see_run
from .step import see_step

__all__ = ["reduce", "reduce_all"]


def reduce(state: ViewState, stamped: Stamped) -> None:
    """Take one event in. An event that was already taken in changes nothing."""
    if stamped.seq <= state.last_seq:
        return
    state.last_seq, state.last_at = stamped.seq, stamped.at
    event = stamped.event
    if isinstance(event, ItemDuplicate) and state.finder is not None:  # most events of a crawl
        state.finder.apply(stamped)
        return
    if isinstance(event, RUN):
        see_run(state, stamped, event)
    elif isinstance(event, PERSON):
        see_person(state, stamped, event)
    elif isinstance(event, HANDOFF):
        see_handoff(state, stamped, event)
    elif isinstance(event, HANDS):
        see_hands(state, stamped, event)
    elif isinstance(event, FINDER):
        see_finder(state, stamped, event)
    else:
        see_step(state, stamped, event)
    if state.finder is not None:
        see_flights(state, stamped)


def reduce_all(state: ViewState, news: Iterable[Stamped]) -> None:
    """Take several events in."""
    for stamped in news:
        reduce(state, stamped)
