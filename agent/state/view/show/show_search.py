"""Show a finder run: counts and tables for the board, and lines in the transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never, get_args

from ....protocol import (
    CallAdmitted,
    CheckFinished,
    CheckStarted,
    CriticSpoke,
    DiffCut,
    EvidenceAdded,
    FindingJudged,
    FindingReopened,
    FindingReported,
    ItemDuplicate,
    ItemFailed,
    ItemQueued,
    ItemSkipped,
    LensAdded,
    LensBriefed,
    ReadsPlaced,
    ReasoningArrived,
    RunEnded,
    RunResumed,
    ScopeCounted,
    Stamped,
    StepFinished,
    TextArrived,
    ToolCalled,
    ToolFinished,
    VoteCast,
    WorkersSeen,
    WorkFinished,
    WorkStarted,
    tree_and_key,
)
from ....protocol.text.counts import plural
from ...search.suspects import work_of
from .change_blocks import note
from .review_targets import diff_words
from .titles import call_title

if TYPE_CHECKING:
    from ...search.finding_facts import Flight
    from ..view_state import ViewState

FinderEvent = (
    WorkStarted
    | WorkFinished
    | ItemQueued
    | ItemDuplicate
    | ItemFailed
    | ItemSkipped
    | FindingReported
    | VoteCast
    | FindingJudged
    | FindingReopened
    | EvidenceAdded
    | LensAdded
    | LensBriefed
    | CriticSpoke
    | ScopeCounted
    | ReadsPlaced
    | WorkersSeen
    | DiffCut
)
FINDER: tuple[type[FinderEvent], ...] = get_args(FinderEvent)


def show_finder(state: ViewState, stamped: Stamped, event: FinderEvent) -> None:
    """Fold an event of a finder: counts and tables go to `state.finder`, notes to the transcript."""
    match event:
        case WorkStarted() | VoteCast() | ItemDuplicate() | LensBriefed() | ScopeCounted() | ReadsPlaced():
            pass
        case WorkFinished():
            state.progress.doing.pop(stamped.work or event.about, None)
            if event.kind == "item" and not event.interrupted:
                state.progress.worked(stamped.at)
        case WorkersSeen():
            known = {one.name for one in state.progress.workers if one.refused}
            for one in event.workers:
                if one.refused and one.name not in known:
                    note(state, stamped, f"worker {one.name} is not used: {one.refused}")
            state.progress.workers = event.workers
            if event.lost:
                note(state, stamped, event.lost)
        case ItemQueued():
            state.progress.queued(stamped.at, event)
        case ItemFailed():
            state.progress.failed(event.error, final=event.final)
            if event.final:
                note(state, stamped, f"failed: {event.key}: {event.error}", right=plural(event.attempts, "attempt"))
        case ItemSkipped():
            note(state, stamped, f"skipped {event.key}", right=f"by {event.by}")
        case FindingReported():
            note(state, stamped, f"found {event.title}", right=event.evidence).detail = event.detail
        case FindingJudged():
            _judged(state, stamped, event)
        case FindingReopened():
            note(state, stamped, f"sent back for evidence {event.key}", right=f"by {event.by}").detail = event.reason
        case EvidenceAdded():
            note(state, stamped, f"evidence for {event.key}", right=event.evidence).detail = event.detail
        case DiffCut():
            note(state, stamped, diff_words(event)).detail = "\n".join(event.left_out)
        case LensAdded():
            note(state, stamped, f"lens {event.name}", right=f"by {event.by}").detail = event.prompt
        case CriticSpoke():
            note(state, stamped, f"critic: {event.text}")
        case _:
            assert_never(event)


def _judged(state: ViewState, stamped: Stamped, event: FindingJudged) -> None:
    known = state.finder.findings.get(event.key) if state.finder is not None else None
    by = f"{event.stands}/{event.votes}" if event.votes else f"by {event.by}"
    word = "kept unjudged:" if event.by == "none" else event.verdict
    block = note(state, stamped, f"{word} {known.title if known is not None else event.key}", right=by)
    block.detail = "\n".join(event.reasons)


def show_flights(state: ViewState, stamped: Stamped) -> None:
    """Show what running works do, from the events of their steps. With several works the run has one activity."""
    assert state.finder is not None  # the caller checked it
    doing, found = state.progress.doing, tree_and_key(stamped.work)
    work = stamped.work if found is None else work_of(found[1])
    match stamped.event:
        case CallAdmitted() | ToolFinished() if work:
            doing[work] = "thinks"
        case TextArrived() | ReasoningArrived() if work:
            doing[work] = "writes" if isinstance(stamped.event, TextArrived) else "thinks"
        case ToolCalled(tool=tool, arguments=arguments) if work:
            doing[work] = call_title(tool, arguments)
        case CheckStarted() if work:
            doing[work] = "runs the check"
        case StepFinished() | CheckFinished() if work:
            doing.pop(work, None)
        case RunEnded() | RunResumed():
            state.progress.stop_all()
        case _:
            pass
    flights = state.finder.flights
    is_running = bool(flights)
    if state.paused:
        is_running = any(not is_paused_between_steps(state, flight) for flight in flights.values())
    state.activity = "running" if is_running else ""


def is_paused_between_steps(state: ViewState, flight: Flight) -> bool:
    """Return whether a pause stops a work between two of its steps. An item of a worker is one step."""
    if not state.paused or state.progress.doing.get(flight.work) or state.search is None:
        return False
    by_model = state.search.worker is None and not state.search.traits.fetches_pages
    return flight.kind != "item" or by_model
