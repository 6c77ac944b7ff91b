"""How a finder's items and findings are seen, where there is no board: a line each."""

from __future__ import annotations

from typing import assert_never

from rundry.agent import FindingJudged, FindingReported, ItemDuplicate, ItemFailed, ItemQueued, Stamped

from ..state import ViewState
from .blocks import note

FinderEvent = ItemQueued | ItemDuplicate | ItemFailed | FindingReported | FindingJudged
FINDER = (ItemQueued, ItemDuplicate, ItemFailed, FindingReported, FindingJudged)


def see_finder(state: ViewState, stamped: Stamped, event: FinderEvent) -> None:
    """Take an event of a finder in."""
    match event:
        case ItemQueued():
            note(state, stamped, f"queued {event.key}", right=event.reason)
        case ItemDuplicate():
            note(state, stamped, f"already seen {event.key}", right=f"from {event.source}")
        case ItemFailed():
            fate = "set aside" if event.final else f"attempt {event.attempts}"
            note(state, stamped, f"failed {event.key}: {event.error}", right=fate)
        case FindingReported():
            block = note(state, stamped, f"found {event.title}", right=event.evidence)
            block.detail = event.detail
        case FindingJudged():
            block = note(state, stamped, f"{event.verdict} {event.key}", right=f"by {event.by}")
            block.detail = "\n".join(event.reasons)
        case _:
            assert_never(event)
