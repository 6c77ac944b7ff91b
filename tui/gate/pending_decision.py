"""The person's undecided choices on a proposal, and the decision that results. Does not import textual."""

from __future__ import annotations

from dataclasses import dataclass, field

from rundry.agent import ConflictVerdict, Decide, ProposalOpened, RebaseResult

from .edited_text import has_conflict_marks
from .hunk_choices import HunkChoices


@dataclass(slots=True)
class EntryChoices:
    """What belongs to the list of entries of a proposal about what a command would change."""

    pending: dict[int, PendingDecision] = field(default_factory=dict[int, "PendingDecision"])
    """The choices in the texts of entries, by their index."""
    shown: dict[int, Shown] = field(default_factory=dict[int, "Shown"])
    """How the text of an entry was painted last."""
    read: set[int] = field(default_factory=set[int])
    """Entries whose text was visible to its end."""
    opened: int | None = None
    """The entry whose text is shown instead of the list."""
    list_read: bool = False
    """The end of the list was visible."""
    unfolded: set[str] = field(default_factory=set[str])
    """Rows of the list that are unfolded, by their key."""
    row: str = ""
    """The key of the row with the cursor, or an empty text for the first row."""


@dataclass(slots=True)
class PendingDecision:
    """The person's choices on one proposal that is not decided yet."""

    picks: HunkChoices = field(default_factory=HunkChoices)
    """The choice for each shown hunk. After a split, each new hunk is one of them."""
    cuts: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    """The hunks of the proposal that the person split: the rows at which the new hunks begin."""
    edited: str | None = None
    """The person's own new text, which is shown and approved."""
    draft: str | None = None
    """A text of the person that no longer fits the file. The next edit starts with it."""
    fitted: str | None = None
    """The blob of the file for which the draft was made. If the file has that content again, the draft fits again."""
    reason: str = ""
    """The reason for the whole answer."""
    typed: dict[int | None, str] = field(default_factory=dict[int | None, str])
    """Reasons that were begun and not given, by hunk. The key None stands for the whole answer."""
    asking: bool = False
    """A reason is being typed."""
    target: int | None = None
    """The hunk of that reason, or None if it is for the whole answer."""
    entries: EntryChoices = field(default_factory=EntryChoices)
    """For a proposal about what a command would change, in which `picks` are those of the entries."""

    @property
    def is_plain(self) -> bool:
        """Whether nothing here depends on the hunks."""
        return (
            self.edited is None
            and self.draft is None
            and self.picks.is_plain
            and not self.cuts
            and self.target is None
            and not self.typed
        )

    def choose(self, picks: HunkChoices) -> None:
        """Use these choices for the hunks that are shown."""
        self.picks = picks

    def set_accepted(self, entry: int, *, accepted: bool) -> None:
        """Accept or skip an entry of what a command would change. One without an accepted hunk gets all of them."""
        if self.picks.is_accepted(entry) != accepted:
            self.picks.toggle(entry)
        own = self.entries.pending.get(entry)
        if accepted and own is not None and own.picks.count and not own.picks.accepted_count:
            own.picks.accept_all()

    def ask_for_reason(self, hunk: int | None) -> None:
        """Ask for the reason for a hunk, or None for the whole answer."""
        self.asking, self.target = True, hunk

    def store_reason(self, text: str, *, kept: bool) -> None:
        """Store the reason that was asked for; if not `kept`, only as the start of the next one."""
        hunk = self.target
        if not kept:
            self.typed[hunk] = text
        else:
            self.typed.pop(hunk, None)
            if hunk is None:
                self.reason = text
            else:
                self.picks.give_reason(hunk, text)
        self.asking, self.target = False, None

    def replace_text(self, text: str) -> None:
        """Approve this text instead of the proposed one, with all its hunks accepted."""
        self.picks.accept_all()
        if self.cuts:
            self.picks, self.cuts = HunkChoices(), {}
        self.edited, self.draft = text, None

    def hunk_of(self, shown: int) -> int:
        """Return the hunk of the proposal to which a shown hunk belongs."""
        hunk = end = 0
        while shown > end + len(self.cuts.get(hunk, ())):
            end += len(self.cuts.get(hunk, ())) + 1
            hunk += 1
        return hunk

    def split(self, hunk: int, starts: list[int]) -> int:
        """Split a hunk of the proposal at these rows. Return the index of the first of the new hunks.

        New hunks have the choice and the reason of the hunk that they were.
        """
        was = self.cuts.get(hunk, [])
        first = hunk + sum(len(rows) for other, rows in self.cuts.items() if other < hunk)
        own = [sum(row <= start for row in was) for start in [0, *starts]]
        if not starts:  # joined: accepted if one of them was
            own = [next((at for at in range(len(was) + 1) if self.picks.is_accepted(first + at)), 0)]
        rest = range(first + len(was) + 1, self.picks.count)
        self.picks = self.picks.spread([*range(first), *(first + at for at in own), *rest])
        self.cuts = {**self.cuts, hunk: starts}
        self.cuts = {other: rows for other, rows in sorted(self.cuts.items()) if rows}
        self.typed = {None: self.typed[None]} if None in self.typed else {}
        return first


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown on the screen."""

    proposal: ProposalOpened
    rebasing: RebaseResult | None = None
    before: str = ""
    """The text of the file, needed if only some hunks of an edited text are accepted."""
    count: int = 0
    """Number of hunks that can be accepted separately."""

    @property
    def in_conflict(self) -> bool:
        """Whether the proposal conflicts with the file."""
        return self.rebasing is not None and self.rebasing.conflict


NOTHING_ACCEPTED = "no hunk is accepted: {reject} rejects, {pick} accepts a hunk, {take_all} accepts all"
IN_CONFLICT = (
    "conflict with the file: {again} asks the model again, {mine} keeps your version, {edit} merges both by hand"
)
MARKS_LEFT = "your version still has conflict marks: press {edit} to remove them"


def approval(shown: Shown, pending: PendingDecision, digest: str) -> Decide | str:
    """Return what approval sends, or why it is not possible; the text names actions as `{reject}`."""
    picks, proposal = pending.picks, shown.proposal
    if shown.in_conflict and pending.edited is None:
        return IN_CONFLICT
    may_have_marks = not shown.in_conflict and has_conflict_marks(shown.before)
    if pending.edited is not None and has_conflict_marks(pending.edited) and not may_have_marks:
        return MARKS_LEFT
    if picks.count and not picks.accepted_count:
        return NOTHING_ACCEPTED
    if pending.edited is not None:
        text = pending.edited
        if picks.skipped_count:
            from rundry.agent import apply_cut_hunks  # the gate costs ~15 ms to import

            text = apply_cut_hunks(shown.before, text, pending.cuts, picks.accepted)
        reason = _joined(pending.reason, picks)
        return Decide(proposal_id=proposal.proposal_id, digest=digest, verdict="approve", text=text, reason=reason)
    if picks.skipped_count:
        return Decide(
            proposal_id=proposal.proposal_id,
            digest=digest,
            verdict="part",
            hunks=picks.accepted,
            hunk_reasons=picks.reasons(),
            cuts=pending.cuts,
            reason=pending.reason or None,
        )
    reason = pending.reason or None
    return Decide(proposal_id=proposal.proposal_id, digest=digest, verdict="approve", reason=reason)


def rejection(shown: Shown, pending: PendingDecision, digest: str) -> Decide:
    """Return the decision for `n`, with the reasons that were given."""
    mine = pending.edited is not None or shown.in_conflict
    return Decide(
        proposal_id=shown.proposal.proposal_id,
        digest=digest,
        verdict="reject",
        reason=_joined(pending.reason, pending.picks) if mine else pending.reason or None,
        hunk_reasons={} if mine else pending.picks.reasons(),
        cuts={} if mine else pending.cuts,
    )


def way_out(shown: Shown, pending: PendingDecision, digest: str, verdict: ConflictVerdict) -> Decide | str:
    """Return a decision that only a conflict takes."""
    if not shown.in_conflict:
        return "there is no conflict: {approve} approves, {reject} rejects"
    reason = pending.reason or None
    return Decide(proposal_id=shown.proposal.proposal_id, digest=digest, verdict=verdict, reason=reason)


def _joined(reason: str, picks: HunkChoices) -> str | None:
    """Return one text with the reasons that cannot be sent hunk by hunk."""
    parts = [reason] if reason else []
    parts += [f"hunk {hunk + 1}: {text}" for hunk, text in picks.reasons().items()]
    return "; ".join(parts) or None
