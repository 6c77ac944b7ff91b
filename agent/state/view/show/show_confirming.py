"""Show a confirmation in a clean checkout."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ....protocol import (
    Confirmation,
    ConfirmationFinished,
    ConfirmationStarted,
    Confirmed,
    DependenciesFound,
    DependenciesRecorded,
    RunVerified,
    Stamped,
    confirmation_words,
)
from ....protocol.text.counts import plural
from .change_blocks import add, note, touch

if TYPE_CHECKING:
    from ..block import BlockStatus
    from ..view_state import ViewState

Confirming = DependenciesFound | DependenciesRecorded | ConfirmationStarted | ConfirmationFinished | RunVerified
CONFIRMING = (DependenciesFound, DependenciesRecorded, ConfirmationStarted, ConfirmationFinished, RunVerified)
_STATUS: dict[Confirmed, BlockStatus] = {
    Confirmed.PASSED: "passed",
    Confirmed.FAILED: "failed",
    Confirmed.NOT_CONFIRMED: "",
}


def show_confirming(state: ViewState, stamped: Stamped, event: Confirming) -> None:
    """Show an event of a confirmation."""
    match event:
        case DependenciesFound() | DependenciesRecorded():
            note(state, stamped, dependency_line(event))
        case ConfirmationStarted():
            add(state, stamped, "check", title=f"check in a clean checkout: {event.command}", status="running")
            state.growing[None, "confirm"] = len(state.blocks) - 1
            state.activity, state.waiting = "running", ""
            state.busy.start(stamped.at)
        case ConfirmationFinished() | RunVerified():
            index = state.growing.pop((None, "confirm"), None)
            if index is None:
                who = "verify: " if isinstance(event, RunVerified) else ""
                add(state, stamped, "check", title=f"{who}check in a clean checkout: {event.command}")
                index = len(state.blocks) - 1
            state.printed.pop(index, None)
            block = touch(state, index)
            block.status, block.right, block.seconds = _STATUS[event.result], confirming_words(event), event.seconds
            block.detail = event.output
            state.activity = ""
            state.busy.halt(stamped.at)
        case _:
            assert_never(event)


def confirming_words(event: ConfirmationFinished | RunVerified) -> str:
    """Describe the result: `confirmed in a clean checkout`, or why not."""
    return confirmation_words(Confirmation(result=event.result, command=event.command, detail=event.detail))


def dependency_line(event: DependenciesFound | DependenciesRecorded) -> str:
    """Describe what is read for the confirmation, and how long it took."""
    if isinstance(event, DependenciesFound):
        return f"reading {', '.join(event.paths)}: the first tool waits for the digests (--confirm)"
    if not event.folders:
        return "no dependency folder to compare"
    files = plural(sum(folder.files for folder in event.folders), "file")
    lost = "".join(f"; {folder.path}: {folder.why_not}" for folder in event.folders if folder.manifest is None)
    names = ", ".join(folder.path for folder in event.folders)
    return f"recorded {files} of {names} in {event.seconds:.1f} s{lost}"
