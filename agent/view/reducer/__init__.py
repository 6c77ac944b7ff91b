"""Events into a `ViewState`: pure, in order, one way for live, attached and replayed runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...facts.search.finder_facts import FINDER_EVENTS
from ...protocol import (
    ItemDuplicate,
    ReasoningArrived,
    Stamped,
    StepStarted,
    TextArrived,
)
from ..pages import PAGE_EVENTS, turn_page
from ..state import ViewState
from .confirming import CONFIRMING, see_confirming
from .finder import FINDER, see_finder, see_flights
from .handoff import HANDOFF, see_handoff
from .hands import HANDS, see_hands
from .person import PERSON, see_person
from .run import RUN, see_run
from .step import see_step, see_words
from .tries import TRIES, see_try

__all__ = ["reduce", "reduce_all", "show"]

_SEERS: dict[type, Callable[[ViewState, Stamped, Any], None]] = {
    **dict.fromkeys(RUN, see_run),
    **dict.fromkeys(PERSON, see_person),
    **dict.fromkeys(HANDOFF, see_handoff),
    **dict.fromkeys(HANDS, see_hands),
    **dict.fromkeys(CONFIRMING, see_confirming),
    **dict.fromkeys(FINDER, see_finder),
    **dict.fromkeys(TRIES, see_try),
    TextArrived: see_words,
    ReasoningArrived: see_words,
}
"""By the event's type, the others are a step's: asking each family in turn is most of what a long run's fold costs."""


def reduce(state: ViewState, stamped: Stamped) -> None:
    """Take one event in. An event that was already taken in changes nothing."""
    if stamped.seq <= state.last_seq:
        return
    if state.finder is not None and type(stamped.event) in FINDER_EVENTS:
        state.finder.apply(stamped)
    show(state, stamped)


def show(state: ViewState, stamped: Stamped) -> None:
    """Take one event in, next to facts of the search that took it in already."""
    kind = type(stamped.event)
    if kind is StepStarted or stamped.seq - state.page_seq > PAGE_EVENTS:
        turn_page(state, stamped.seq)
    state.last_seq, state.last_at = stamped.seq, stamped.at
    if kind is ItemDuplicate:  # most events of a crawl
        return
    event = stamped.event
    if kind is StepStarted and stamped.work in state.trying:
        state.newest_try = state.trying[stamped.work]
    _SEERS.get(kind, see_step)(state, stamped, event)
    if state.finder is not None:
        see_flights(state, stamped)


def reduce_all(state: ViewState, news: Iterable[Stamped]) -> None:
    """Take several events in."""
    for stamped in news:
        reduce(state, stamped)
