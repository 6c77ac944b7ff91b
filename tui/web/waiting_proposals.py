"""The proposals of a folder that wait for a person, read from the journals. Blocks. Does not import aiohttp."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rundry.agent import (
    Journal,
    Pending,
    ProposalOpened,
    RunLine,
    RunState,
    UserError,
    holder,
    is_own_journal,
    list_runs,
    money,
    pending,
    refresh_proposals,
    run_state,
)


@dataclass(frozen=True, slots=True)
class WaitingRun:
    """A run that waits for a person."""

    run_id: str
    path: Path
    task: str
    is_live: bool
    spent: str
    """What it spent of its limits, in words."""
    needs: str
    """What it needs, if it is something else than a decision on a proposal."""
    proposals: tuple[ProposalOpened, ...]


@dataclass(frozen=True, slots=True)
class Waiting:
    """One proposal that waits, in its newest version."""

    run: str
    task: str
    is_live: bool
    opened: ProposalOpened
    conflict: str
    """Why it is in conflict with its file. Empty means that it fits."""


class WaitingProposals:
    """Finds what waits in the runs of one folder. Other runs cannot be seen through it."""

    def __init__(self, journals: Path, workspace: Path) -> None:
        self._journals, self._workspace = journals, str(workspace)

    def runs(self) -> list[WaitingRun]:
        """Return the runs that wait for a person, the newest first. Raises RundryError."""
        lines = {line.run_id: line for line in list_runs(self._journals) if line.workspace == self._workspace}
        found = pending(lines.values(), self._workspace)
        return [_run(lines[one.run_id], one) for one in found if is_own_journal(Path(one.journal), self._journals)]

    def open(self, run: str, digest: str, *, refreshed: bool = False) -> tuple[Journal, Waiting]:
        """Open the journal of a run whose proposal with exactly this digest waits. Raises RundryError.

        `refreshed`: rebase the proposals of a run that nobody drives on the present files before.
        """
        journal = self._open(run)
        try:
            if refreshed and holder(journal.path) is None:
                refresh_proposals(journal.path)
            state = _state_of(journal)
            found = next((opened for opened in state.proposals.values() if opened.digest == digest), None)
            if found is None:
                raise UserError(_why_not(state))
            conflict = state.conflicts.get(found.proposal_id, "")
            is_live = holder(journal.path) is not None
            return journal, Waiting(run, journal.spec.task, is_live, found, conflict)
        except BaseException:
            journal.close()
            raise

    def _open(self, run: str) -> Journal:
        """Open the journal of exactly this run. Raises UserError if it is not a run of the folder."""
        lines = (line for line in list_runs(self._journals) if line.workspace == self._workspace)
        path = next((Path(line.path) for line in lines if line.run_id == run), None)
        if path is None or not is_own_journal(path, self._journals):
            raise UserError("this run does not exist any more")
        return Journal.open(path)


def _run(line: RunLine, found: Pending) -> WaitingRun:
    journal = Journal.open(Path(line.path))
    try:
        state = _state_of(journal)
    finally:
        journal.close()
    return WaitingRun(
        run_id=line.run_id,
        path=Path(line.path),
        task=line.task,
        is_live=found.state == "running",
        spent=_spent(line, state),
        needs="" if state.proposals else found.suggested_action,
        proposals=tuple(state.proposals.values()),
    )


def _state_of(journal: Journal) -> RunState:
    state = run_state(journal)
    return state if holder(journal.path) is not None else state.without_runner()


def _why_not(state: RunState) -> str:
    if state.proposals:
        return "this proposal was decided meanwhile, or its file changed: look at what waits now"
    if state.ended is not None:
        return "the run has ended, and nothing of it waits any more"
    return "this proposal was decided meanwhile"


def _spent(line: RunLine, state: RunState) -> str:
    budget = state.budget
    steps = f"step {line.steps}" + (f" of {budget.steps}" if budget.steps is not None else "")
    if line.usd is None:
        return f"{steps} · price unknown"
    return f"{steps} · ${money(line.usd)}" + (f" of ${money(budget.usd)}" if budget.usd is not None else "")
