"""Fold events into a `ViewState`: pure, in order, the same for live, attached and replayed runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, get_args

from ...protocol import (
    ItemDuplicate,
    ReasoningArrived,
    Stamped,
    StepStarted,
    TextArrived,
)
from ...protocol.events.person import PersonEvent
from ..common.common_facts import COMMON_EVENTS
from ..search.finder_facts import FINDER_EVENTS
from .show.show_answers import ANSWERS, show_answers
from .show.show_checks import CHECKS, show_check
from .show.show_children import CHILDREN, show_child
from .show.show_confirming import CONFIRMING, show_confirming
from .show.show_judging import JUDGING, show_judging
from .show.show_manual import ManualEvent, show_manual
from .show.show_person import HANDOFF, show_handoff, show_person
from .show.show_run import RunFrame, show_run
from .show.show_search import FINDER, show_finder, show_flights
from .show.show_step import CALL, NOT_SHOWN, STEP, TOOL, WAITS, show_call, show_step, show_tool, show_wait, show_words
from .show.show_tries import TRIES, WORKTREES, show_try, show_worktree
from .transcript_pages import PAGE_EVENTS, turn_page

if TYPE_CHECKING:
    from .view_state import ViewState


def _show_nothing(state: ViewState, stamped: Stamped, event: object) -> None:
    """Do nothing: no view shows this event."""
    del state, stamped, event


_REDUCERS: dict[type, Callable[[ViewState, Stamped, Any], None]] = {
    **dict.fromkeys(get_args(RunFrame), show_run),
    **dict.fromkeys(get_args(PersonEvent), show_person),
    **dict.fromkeys(ANSWERS, show_answers),
    **dict.fromkeys(HANDOFF, show_handoff),
    **dict.fromkeys(get_args(ManualEvent), show_manual),
    **dict.fromkeys(CONFIRMING, show_confirming),
    **dict.fromkeys(JUDGING, show_judging),
    **dict.fromkeys(FINDER, show_finder),
    **dict.fromkeys(TRIES, show_try),
    **dict.fromkeys(WORKTREES, show_worktree),
    **dict.fromkeys(CHILDREN, show_child),
    **dict.fromkeys(CALL, show_call),
    **dict.fromkeys(TOOL, show_tool),
    **dict.fromkeys(CHECKS, show_check),
    **dict.fromkeys(STEP, show_step),
    **dict.fromkeys(WAITS, show_wait),
    **dict.fromkeys(NOT_SHOWN, _show_nothing),
    TextArrived: show_words,
    ReasoningArrived: show_words,
}
"""By event type. A lookup is much faster than asking each module in turn."""


def reduce(state: ViewState, stamped: Stamped) -> None:
    """Fold one event into the view state. An event that was already folded is ignored."""
    if stamped.seq <= state.last_seq:
        return
    if state.finder is not None and type(stamped.event) in FINDER_EVENTS:
        state.finder.apply(stamped)
    show_event(state, stamped)


def show_event(state: ViewState, stamped: Stamped) -> None:
    """Fold one event, if the facts of the search have already folded it."""
    kind = type(stamped.event)
    if kind is StepStarted or stamped.seq - state.page_seq > PAGE_EVENTS:
        turn_page(state, stamped.seq)
    state.last_seq, state.last_at = stamped.seq, stamped.at
    if kind is ItemDuplicate:  # most events of a crawl
        return
    event = stamped.event
    if kind is StepStarted and stamped.work in state.running_tries:
        state.newest_try = state.running_tries[stamped.work]
    _REDUCERS[kind](state, stamped, event)
    if kind in COMMON_EVENTS:
        state.common.apply(stamped)
    if state.finder is not None:
        show_flights(state, stamped)


def reduce_all(state: ViewState, news: Iterable[Stamped]) -> None:
    """Fold several events into the view state."""
    for stamped in news:
        reduce(state, stamped)
