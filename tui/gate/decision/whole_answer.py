"""Approve all files that one answer of the model changes. Does not import textual."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from posixpath import commonpath
from typing import TYPE_CHECKING

from rundry.agent import Decide, ProposalOpened, plural

from ...text import path_line
from .pending_decision import Shown, approval

if TYPE_CHECKING:
    from .review import Review

ONE_FILE = "no other file of this answer waits: {approve} approves this one"


@dataclass(slots=True)
class Plan:
    """What `Y` approves, and what it leaves out."""

    decisions: list[Decide] = field(default_factory=list[Decide])
    files: list[str] = field(default_factory=list[str])
    """The files that are approved, in the order of the decisions."""
    unread: list[str] = field(default_factory=list[str])
    """Those of them whose end was never visible."""
    left_out: list[str] = field(default_factory=list[str])
    """`path: why`, for each file that stays."""

    def question(self, key: str) -> str:
        """Return what this key approves when it is pressed again: each file by its name."""
        folder = commonpath([path.rpartition("/")[0] for path in self.files]) if self.files else ""
        names = [path.removeprefix(f"{folder}/") for path in self.files]
        unread = [name for name, path in zip(names, self.files, strict=True) if path in self.unread]
        told = "none read to the end" if len(unread) == len(names) else f"not read to the end: {', '.join(unread)}"
        where = f" in {folder}" if folder else ""
        head = f"{key} again approves {plural(len(names), 'file')}{where}: {', '.join(names)}"
        return "; ".join([head, *([told] if unread else []), *self.left])

    @property
    def left(self) -> Iterator[str]:
        """Yield a sentence for each file that is left out."""
        return (f"{line}, so it stays" for line in self.left_out)


def plan_approval(review: Review) -> Plan:
    """Return what approves all files of the answer that are left, each as it was chosen or shown."""
    plan = Plan()
    for proposal in review.rest_of_answer():
        found, name = _decision(review, proposal), path_line(proposal.path or "")
        if isinstance(found, str):
            plan.left_out.append(f"{name} {found}")
            continue
        plan.decisions.append(found)
        plan.files.append(name)
        if not review.was_read(proposal):
            plan.unread.append(name)
    return plan


def _decision(review: Review, proposal: ProposalOpened) -> Decide | str:
    """Return the approval of this file as the person chose in it, or why it cannot be approved with the others."""
    pending, rebasing = review.pending_of(proposal.proposal_id), review.rebasing_of(proposal.proposal_id)
    if rebasing is not None and rebasing.conflict and pending.edited is None:
        return "is in conflict"
    if pending.draft is not None:
        return "changed, and your version no longer fits"
    if proposal.danger and not review.was_read(proposal):
        return "is guarded or protected and was not read"
    shown = review.painted_of(proposal)
    if shown is None:
        if pending.edited is not None or pending.picks.left_count:
            return "changed after you chose in it"
        shown = Shown(proposal, rebasing)
    found = approval(shown, pending, proposal.digest)
    return "has no accepted hunk, or conflict marks" if isinstance(found, str) else found
