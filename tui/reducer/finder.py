"""How a finder's items and findings are seen, where there is no board: a line each."""

from __future__ import annotations

from typing import assert_never

from rundry.agent import (
    CriticSpoke,
    EvidenceAdded,
    FindingJudged,
    FindingReopened,
    FindingReported,
    ItemDuplicate,
    ItemFailed,
    ItemQueued,
    ItemSkipped,
    LensAdded,
    Stamped,
    VoteCast,
    WorkFinished,
    WorkStarted,
)

from ..state import ViewState
from .blocks import note

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
    | CriticSpoke
)
FINDER = (
    WorkStarted,
    WorkFinished,
    ItemQueued,
    ItemDuplicate,
    ItemFailed,
    ItemSkipped,
    FindingReported,
    VoteCast,
    FindingJudged,
    FindingReopened,
    EvidenceAdded,
    LensAdded,
    CriticSpoke,
)


def see_finder(state: ViewState, stamped: Stamped, event: FinderEvent) -> None:
    """Take an event of a finder in."""
    match event:
        case WorkStarted() | WorkFinished() | VoteCast():
            pass
        case ItemQueued() | ItemDuplicate() | ItemFailed() | ItemSkipped():
            _item(state, stamped, event)
        case FindingReported():
            block = note(state, stamped, f"found {event.title}", right=event.evidence)
            block.detail = event.detail
        case FindingJudged():
            block = note(state, stamped, f"{event.verdict} {event.key}", right=f"by {event.by}")
            block.detail = "\n".join(event.reasons)
        case FindingReopened():
            note(state, stamped, f"sent back for evidence {event.key}", right=f"by {event.by}")
        case EvidenceAdded():
            note(state, stamped, f"evidence for {event.key}", right=event.evidence).detail = event.detail
        case LensAdded():
            note(state, stamped, f"lens {event.name}", right=f"by {event.by}").detail = event.prompt
        case CriticSpoke():
            note(state, stamped, f"critic: {event.text}")
        case _:
            assert_never(event)


def _item(state: ViewState, stamped: Stamped, event: ItemQueued | ItemDuplicate | ItemFailed | ItemSkipped) -> None:
    match event:
        case ItemQueued():
            note(state, stamped, f"queued {event.key}", right=event.reason)
        case ItemDuplicate():
            note(state, stamped, f"already seen {event.key}", right=f"from {event.source}")
        case ItemFailed():
            fate = "set aside" if event.final else f"attempt {event.attempts}"
            note(state, stamped, f"failed {event.key}: {event.error}", right=fate)
        case ItemSkipped():
            note(state, stamped, f"skipped {event.key}", right=f"by {event.by}")
        case _:
            assert_never(event)
