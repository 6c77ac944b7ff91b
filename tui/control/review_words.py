"""What became of a review of a stage, in words. Does not import textual."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rundry.agent import plural, result_words, undecided_words

if TYPE_CHECKING:
    from rundry.agent import Applied, StageReview, ViewState

    Opens = Callable[[Callable[[str], None]], AbstractAsyncContextManager[StageReview]]
    """Opens the review, and tells what the person waits for."""

NOT_APPLIED = 5
"""Exit code: something is staged still, or the checks do not pass in the workspace."""
LEFT_STAGED = "Nothing was applied. It stays staged."
IN_STAGE = "the run works in a stage: /apply decides on it, /gate MODE leaves it"


@dataclass(frozen=True, slots=True)
class Reviewed:
    """How a review ended."""

    applied: Applied | None = None
    """The result, or None if the person left the review without a decision."""
    failed: str = ""
    """Why there was no review."""


def applied_lines(run_id: str, applied: Applied) -> Sequence[str]:
    """Return what was applied, whether the checks pass now, and what stays staged."""
    lines = [*applied.lines, *result_lines(run_id, applied)]
    if not applied.is_over:
        left = "Something stays staged, because it was not accepted or somebody changed it meanwhile"
        lines.append(f"{left}: rundry apply {run_id} shows it, with --drop it is deleted")
    return lines


def result_lines(run_id: str, applied: Applied) -> Iterator[str]:
    """Yield whether the checks pass in the workspace, how that is proved, and what nobody decided on."""
    if not applied.has_checks:
        return
    if applied.met is None:
        yield "The checks do not pass in the workspace."
        return
    yield f"The checks pass in the workspace, but {applied.why}" if applied.why else f"In the workspace: {applied.met}"
    if not applied.why and (proof := result_words(applied.evidence)):
        yield f"evidence: {proof}"
    if applied.evidence is not None and (undecided := undecided_words(applied.evidence)):
        yield f"undecided: {undecided}"
        if applied.evidence.rests_on:
            yield f"rundry apply {run_id} --keep shows these changes and accepts them"


def exit_code_of(applied: Applied | None) -> int:
    """Return the exit code of `rundry apply` after a review."""
    return 0 if applied is not None and applied.is_good else NOT_APPLIED


def review_words(reviewed: Reviewed) -> str:
    """Return in one line how a review ended, for the screen of the run."""
    applied = reviewed.applied
    if applied is None:
        return reviewed.failed or "nothing was applied: it stays staged, and your choices are kept"
    words = [*applied.lines]
    if applied.has_checks:
        but = f", but {applied.why}" if applied.why else ""
        words.append(
            f"The checks pass in the workspace{but}." if applied.met else "The checks do not pass in the workspace."
        )
    return " ".join([*words, *([] if applied.is_over else ["The rest stays staged."])])


def staged_count(state: ViewState) -> int:
    """Return how many files are staged, as far as the run knows them."""
    ended = state.outcome
    return len(state.staged_files if ended is None else ended.staged) if state.in_stage else 0


def staged_words(state: ViewState) -> str:
    """Return `3 files staged`, `stage` if no file is staged, or an empty text if the run does not work in a stage."""
    if not state.in_stage:
        return ""
    count = staged_count(state)
    return f"{plural(count, 'file')} staged" if count else "stage"
