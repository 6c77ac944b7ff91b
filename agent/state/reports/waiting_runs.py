"""Find runs that wait for a person: why, since when, and how to resume them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from ...journal.journal import Journal
from ...protocol import HandoffOpened, JournalError, ProposalOpened, Reason
from ...protocol.text.effect_words import effect_lines
from .handoffs import SHORT_DIGEST
from .run_files import journal_path
from .run_line import RunLine, RunLineState
from .run_state import RunState, run_state

PersonNeed = Literal["handoff", "gate", "question"]
"""What a run needs from a person."""


class PendingProposal(msgspec.Struct, frozen=True, kw_only=True):
    """One open proposal, for the list of hand-offs."""

    proposal_id: str
    digest: str
    """Digest to use in a decision: of the exact content or command line."""
    tool: str
    path: str | None = None
    command: str | None = None
    added: int = 0
    removed: int = 0
    hunks: int = 0
    conflict: bool = False
    """Whether the proposal conflicts with a change of the file on disk."""
    effects: list[str] = []
    """What a command would change, a line for each entry."""
    opened: float = 0.0
    """Unix seconds."""


class SuspectResult(msgspec.Struct, frozen=True, kw_only=True):
    """A check with exit code 0 that does not count as a pass, for the list of hand-offs."""

    digest: str
    """Digest to use in a decision: of the suspect results of all checks of the run."""
    command: str
    suspect: str
    """Why the result does not count as a pass."""
    missing: list[str] = []
    """Tests that ran before but did not run now, at most 50."""
    missing_count: int = 0


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """One run that waits for a person."""

    run_id: str
    journal: str
    task: str
    workspace: str
    waits: PersonNeed
    state: RunLineState
    """If it is not `running`, the run must be resumed before a person can act."""
    reason: str
    suggested_action: str
    since: float
    """Unix seconds."""
    take_up: str
    """The command to resume the run or to decide."""
    proposals: list[PendingProposal] = []
    """Open proposals, oldest first."""
    suspect: SuspectResult | None = None
    """A suspect result that a person can accept or reject."""


def pending(runs: Iterable[RunLine], workspace: str | None = None) -> list[Pending]:
    """Return those of the runs that wait for a person. `workspace`: only the runs of this workspace."""
    return list(_found(runs, workspace))


def _found(runs: Iterable[RunLine], workspace: str | None) -> Iterator[Pending]:
    for line in runs:
        is_over = line.is_unreadable or (line.state == "ended" and line.complete)
        if is_over or workspace not in (None, line.workspace):
            continue
        try:
            journal = Journal.open(Path(line.path))
            try:
                state = run_state(journal)
            finally:
                journal.close()
        except JournalError:  # removed or damaged since it was listed
            continue
        if (found := _pending(line, state)) is not None:
            yield found


@dataclass(frozen=True, slots=True)
class _Need:
    """What a run needs from a person."""

    waits: PersonNeed
    reason: str
    suggested_action: str
    command: str
    """The command with which a person acts."""


def _pending(line: RunLine, state: RunState) -> Pending | None:
    is_running = line.state == "running"
    proposals = list((state if is_running else state.without_runner()).proposals.values())
    suspect = None if is_running or proposals else suspect_result(state)
    need = _need(line, state, proposals, suspect)
    if need is None:
        return None
    return Pending(
        run_id=line.run_id,
        journal=line.path,
        task=line.task,
        workspace=line.workspace,
        waits=need.waits,
        state=line.state,
        reason=need.reason,
        suggested_action=need.suggested_action,
        since=state.asked_at or line.started,
        take_up=need.command,
        proposals=[_proposal_entry(opened, state) for opened in proposals],
        suspect=suspect,
    )


def _need(
    line: RunLine, state: RunState, proposals: Sequence[ProposalOpened], suspect: SuspectResult | None
) -> _Need | None:
    """Return the most urgent need: a hand-off, else a question, else a proposal.

    `proposals`: the proposals that can be decided now.
    """
    is_running = line.state == "running"
    if not is_running and state.handoff is None and (found := _staged(line, state)) is not None:
        return found
    is_open = state.handoff is not None and line.reason in (None, Reason.HANDOFF, Reason.REFUSED)
    if is_open or (line.reason is Reason.HANDOFF and state.is_staged is not False):
        command = _show_command(line, proposals) if is_running else _resume_command(line, proposals, suspect)
        if state.handoff is not None and (child := state.handoff.record.staged_child) and not proposals:
            return _child_need(line, state.handoff, child)
        if state.handoff is None:
            return _Need("handoff", line.detail, "look at it, then resume it with a hint", command)
        return _Need("handoff", state.handoff.reason, state.handoff.suggested_action, command)
    if state.questions:
        question = next(iter(state.questions.values())).question
        command = f'rundry ctl {line.run_id} answer "..."' if is_running else _show_command(line, proposals)
        return _Need("question", f"the model asks: {question}", "answer it", command)
    if proposals or state.proposals:
        opened = proposals[0] if proposals else next(iter(state.proposals.values()))
        reason = f"{_subject(opened)} waits at the gate"
        return _Need("gate", reason, "look at it, then approve or reject it", _show_command(line, proposals))
    return None


def _child_need(line: RunLine, opened: HandoffOpened, child: str) -> _Need:
    """Return the decision on the staged result of a child run, or the resume after it was decided on."""
    if _is_staged(journal_path(Path(line.path).parent, child)):
        return _Need("handoff", opened.reason, opened.suggested_action, f"rundry apply {child}")
    command = f"rundry resume {line.run_id}"
    return _Need("handoff", f"the staged result of {child} was decided on", "Resume the run.", command)


def _is_staged(path: Path) -> bool:
    """Return whether the run of a journal has something staged, or cannot be read."""
    try:
        journal = Journal.open(path)
        try:
            return run_state(journal).is_staged is True
        finally:
            journal.close()
    except JournalError:
        return True


def _staged(line: RunLine, state: RunState) -> _Need | None:
    """Return the decision on what the run staged, or None if nothing is staged."""
    ended = state.ended
    if not state.is_staged or ended is None or not (ended.staged or ended.reason is Reason.HANDOFF):
        return None
    return _Need("handoff", line.detail, "decide on what is staged", f"rundry apply {line.run_id}")


def _subject(opened: ProposalOpened) -> str:
    if opened.effects is not None:
        return f"what `{opened.effects.command}` would change"
    if opened.plan is not None:
        return "a plan"
    return f"{opened.tool} {opened.path or opened.command or opened.server or opened.url or opened.tool}"


def _show_command(line: RunLine, proposals: Sequence[ProposalOpened]) -> str:
    """Return the command that shows the run or, without a runner, approves its oldest proposal or resumes it."""
    if line.state == "running":
        return f"rundry watch {line.run_id}"
    return _approve_command(line, proposals[0].digest) if proposals else f"rundry resume {line.run_id}"


def _resume_command(line: RunLine, proposals: Sequence[ProposalOpened], suspect: SuspectResult | None) -> str:
    """Return the command that continues a run without a runner: a decision that it waits for, or a resume."""
    if proposals:
        return _approve_command(line, proposals[0].digest)
    return f'rundry resume {line.run_id} --hint "..."' if suspect is None else _approve_command(line, suspect.digest)


def _approve_command(line: RunLine, digest: str) -> str:
    return f"rundry approve {line.run_id} --digest {digest[:SHORT_DIGEST]}"


def suspect_result(state: RunState) -> SuspectResult | None:
    """Return the suspect result at the run's hand-off."""
    check = state.handoff.record.failing_check if state.handoff is not None else None
    if check is None or not check.digest:
        return None
    return SuspectResult(
        digest=check.digest,
        command=check.command,
        suspect=check.suspect,
        missing=check.missing,
        missing_count=check.missing_count,
    )


def _proposal_entry(opened: ProposalOpened, state: RunState) -> PendingProposal:
    return PendingProposal(
        proposal_id=opened.proposal_id,
        digest=opened.digest,
        tool=opened.tool,
        path=opened.path,
        command=opened.command,
        added=opened.added,
        removed=opened.removed,
        hunks=opened.hunks,
        effects=[] if opened.effects is None else effect_lines(opened.effects),
        conflict=opened.proposal_id in state.conflicts,
        opened=state.opened_at.get(opened.proposal_id, 0.0),
    )
