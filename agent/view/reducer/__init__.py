"""Fold events into a `ViewState`: pure, in order, the same for live, attached and replayed runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, get_args

from ...facts.common.common_facts import COMMON_EVENTS
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
from .checks import CHECKS, see_check
from .children import CHILDREN, see_child
from .confirming import CONFIRMING, see_confirming
from .finder import FINDER, see_finder, see_flights
from .handoff import HANDOFF, see_handoff
from .manual import ManualEvent, see_manual
from .person import PersonEvent, see_person
from .run import RunFrame, see_run
from .step import CALL, STEP, TOOL, UNSEEN, see_call, see_step, see_tool, see_words
from .tries import TRIES, WORKTREES, see_try, see_worktree

__all__ = ["reduce", "reduce_all", "show"]


def _pass_over(state: ViewState, stamped: Stamped, event: object) -> None:
    """Show nothing."""
    del state, stamped, event


_SEERS: dict[type, Callable[[ViewState, Stamped, Any], None]] = {
    **dict.fromkeys(get_args(RunFrame), see_run),
    **dict.fromkeys(get_args(PersonEvent), see_person),
    **dict.fromkeys(HANDOFF, see_handoff),
    **dict.fromkeys(get_args(ManualEvent), see_manual),
    **dict.fromkeys(CONFIRMING, see_confirming),
    **dict.fromkeys(FINDER, see_finder),
    **dict.fromkeys(TRIES, see_try),
    **dict.fromkeys(WORKTREES, see_worktree),
    **dict.fromkeys(CHILDREN, see_child),
    **dict.fromkeys(CALL, see_call),
    **dict.fromkeys(TOOL, see_tool),
    **dict.fromkeys(CHECKS, see_check),
    **dict.fromkeys(STEP, see_step),
    **dict.fromkeys(UNSEEN, _pass_over),
    TextArrived: see_words,
    ReasoningArrived: see_words,
}
"""By event type. A lookup is much faster than asking each module in turn."""


def reduce(state: ViewState, stamped: Stamped) -> None:
    """Fold one event into the view state. An event that was already folded is ignored."""
    if stamped.seq <= state.last_seq:
        return
    if state.finder is not None and type(stamped.event) in FINDER_EVENTS:
        state.finder.apply(stamped)
    show(state, stamped)


def show(state: ViewState, stamped: Stamped) -> None:
    """Fold one event, if the facts of the search have already folded it."""
    kind = type(stamped.event)
    if kind is StepStarted or stamped.seq - state.page_seq > PAGE_EVENTS:
        turn_page(state, stamped.seq)
    state.last_seq, state.last_at = stamped.seq, stamped.at
    if kind is ItemDuplicate:  # most events of a crawl
        return
    event = stamped.event
    if kind is StepStarted and stamped.work in state.trying:
        state.newest_try = state.trying[stamped.work]
    _SEERS[kind](state, stamped, event)
    if kind in COMMON_EVENTS:
        state.common.apply(stamped)
    if state.finder is not None:
        see_flights(state, stamped)


def reduce_all(state: ViewState, news: Iterable[Stamped]) -> None:
    """Fold several events into the view state."""
    for stamped in news:
        reduce(state, stamped)
