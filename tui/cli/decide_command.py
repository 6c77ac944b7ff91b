"""`rundry approve` and `rundry reject`: decide on a proposal, also long after its runner is gone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from rundry.agent import (
    SHORT_DIGEST,
    Decide,
    GateVerdict,
    Journal,
    ProposalOpened,
    Refusal,
    ResumeChanges,
    RunState,
    SuspectResult,
    UserError,
    holder,
    plural,
    refresh_proposals,
    run_state,
    suspect_result,
)

from ..control.asked_proposal import (
    NOT_RECORDED,
    Declined,
    chosen,
    confirm_result,
    has_terminal,
    is_about_result,
    what_of,
)
from ..start.resuming import find_own
from ..text.output_kind import Output
from ..text.show_text import one_line, path_line

ResumeDecided = Callable[[str, Mapping[str, object], ResumeChanges, Output | None], int]
"""Resumes a run with a decision: on the screen, or without one if an output is given. Returns the exit code."""


def decide(
    ref: str | None,
    flags: Mapping[str, object],
    *,
    verdict: GateVerdict,
    digest: str | None,
    hunks: str | None,
    reason: str | None,
    output: Output | None,
    resume: ResumeDecided,
) -> int:
    """Decide on one proposal, then let the run continue. Return the exit code. Raises RundryError.

    A live run takes the decision from its inbox. One that nobody drives is resumed with it, on the screen if `output`
    is None and there is a terminal.
    """
    path = find_own(ref, flags)
    run_id, state = _read(path)
    is_live = holder(path) is not None
    suspect = None if is_live else suspect_result(state)
    if digest is None and not has_terminal() and suspect is None:
        chosen(state, run_id, verdict, None)
    if not is_live:
        state = _refreshed(path, state, digest)
    try:
        if suspect is not None and is_about_result(suspect, state, digest):
            confirm_result(suspect, run_id, verdict, digest)
            changes = _about_result(suspect, verdict, hunks, reason)
            return _resume(ref or run_id, flags, changes, output, resume)
        opened = _proposal(state, suspect, run_id, verdict, digest)
    except Declined:
        print("no decision was made")
        return 1
    command = _command(opened, state, run_id, verdict, hunks, reason)
    if is_live:
        from .ctl import put_decision

        return put_decision(path, command, as_json=output is Output.JSON)
    changes = ResumeChanges(decision=command)
    return _resume(ref or run_id, flags, changes, output, resume)


def _proposal(
    state: RunState, suspect: SuspectResult | None, run_id: str, verdict: str, digest: str | None
) -> ProposalOpened:
    """Return the proposal to decide on. Raises UserError, Declined."""
    if suspect is not None and not state.proposals:
        raise UserError(f"no suspect result of {run_id} has that digest. Open now: {suspect.digest[:SHORT_DIGEST]}")
    return chosen(state, run_id, verdict, digest)


def _resume(
    ref: str, flags: Mapping[str, object], decided: ResumeChanges, output: Output | None, resume: ResumeDecided
) -> int:
    """Resume the run with the decision. Return the exit code. Raises RundryError."""
    if output is None and has_terminal():
        return resume(ref, flags, decided, None)
    try:
        return resume(ref, flags, decided, output or Output.LINES)
    except Refusal as refusal:
        raise Refusal(f"{refusal}; {NOT_RECORDED}") from refusal


def _about_result(suspect: SuspectResult, verdict: str, hunks: str | None, reason: str | None) -> ResumeChanges:
    """Return the changes for a decision on a suspect check. Raises UserError for hunks."""
    if hunks is not None:
        raise UserError("--hunks: a suspect check has no hunks. Leave it out")
    if verdict == "approve":
        return ResumeChanges(accept=suspect.digest)
    return ResumeChanges(hint=reason or "The result of the suspect check is not accepted. Continue.")


def _read(path: Path) -> tuple[str, RunState]:
    journal = Journal.open(path)
    try:
        return journal.spec.run_id, run_state(journal)
    finally:
        journal.close()


def _refreshed(path: Path, before: RunState, digest: str | None) -> RunState:
    """Rebase the proposals of a run that nobody drives, and return those that a decision can name. Raises UserError."""
    refresh_proposals(path)
    state = _read(path)[1].without_runner()
    _refuse_old(before.proposals.values(), state, digest)
    return state


def _refuse_old(before: Collection[ProposalOpened], state: RunState, digest: str | None) -> None:
    """Raise UserError if the digest names a proposal whose file changed since."""
    if digest is None:
        return
    for opened in before:
        now = state.proposals.get(opened.proposal_id)
        if now is not None and now.digest != opened.digest and opened.digest.startswith(digest.lower()):
            how = "is in conflict with that" if opened.proposal_id in state.conflicts else "was rebased on that"
            raise UserError(
                f"{path_line(opened.path or '')} changed since this proposal was shown: "
                f"it {how}, and needs a new decision. "
                f"Its digest is now {now.digest[:SHORT_DIGEST]}."
            )


def _command(
    opened: ProposalOpened, state: RunState, run_id: str, verdict: GateVerdict, hunks: str | None, reason: str | None
) -> Decide:
    """Return the decision as a command. Raises UserError."""
    if verdict == "approve" and opened.proposal_id in state.conflicts:
        raise UserError(
            f"{what_of(opened)} is in conflict ({one_line(state.conflicts[opened.proposal_id])}). "
            f"Merge it on the screen (rundry resume {run_id}), or reject it."
        )
    if hunks is not None and opened.effects is not None:
        raise UserError("--hunks: this proposal has several files. Choose on the screen, or leave it out")
    chosen_hunks = _hunks(hunks, opened.hunks)
    return Decide(
        proposal_id=opened.proposal_id,
        digest=opened.digest,
        verdict=verdict if chosen_hunks is None else "part",
        hunks=chosen_hunks,
        reason=reason,
    )


def _hunks(given: str | None, count: int) -> list[int] | None:
    """Return `1,3` as indexes from 0. Raises UserError."""
    if given is None:
        return None
    words = [word.strip() for word in given.split(",")]
    if not all(word.isdecimal() and 1 <= int(word) <= count for word in words):
        hunks = plural(count, "hunk")
        raise UserError(f"--hunks {given!r}: this proposal has {hunks}; name them like 1,{max(count, 1)}")
    return sorted({int(word) - 1 for word in words})
