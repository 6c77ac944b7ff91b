"""The user's undecided choices on a proposal, and the decision that results. Does not import textual."""

from __future__ import annotations

from dataclasses import dataclass, field

from rundry.agent import Decide, ProposalOpened, Rebasing

from .editing import has_conflict_marks
from .picks import Picks
from .spans import Span, taken_text


@dataclass(slots=True)
class Thoughts:
    """The user's choices on one proposal that is not decided yet."""

    picks: Picks = field(default_factory=Picks)
    edited: str | None = None
    """The person's own new text: shown, and what is approved."""
    draft: str | None = None
    """A text of theirs that no longer fits the file: where the next edit starts from."""
    fitted: str | None = None
    """The blob of the file that the draft was made for: should that stand there again, it fits again."""
    reason: str = ""
    """For the whole answer."""
    typed: dict[int | None, str] = field(default_factory=dict[int | None, str])
    """Reasons that were begun and not given, by hunk; None: for the whole."""
    asking: bool = False
    """A reason is being typed,"""
    target: int | None = None
    """for this hunk; None: for the whole answer."""

    @property
    def is_plain(self) -> bool:
        """Nothing here depends on what the hunks are."""
        return (
            self.edited is None
            and self.draft is None
            and self.picks.is_plain
            and self.target is None
            and not self.typed
        )

    def ask_for_reason(self, hunk: int | None) -> None:
        """Ask for the reason for a hunk; None: for the whole answer."""
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
        self.picks.take_all()
        self.edited, self.draft = text, None


@dataclass(frozen=True, slots=True)
class Shown:
    """What stands on the screen."""

    proposal: ProposalOpened
    rebasing: Rebasing | None = None
    before: str = ""
    """The file's text; needed where an edited text is taken in part."""
    spans: tuple[Span, ...] = ()
    """Of the hunks that can be taken one by one."""

    @property
    def in_conflict(self) -> bool:
        """It cannot land as it is."""
        return self.rebasing is not None and self.rebasing.conflict


NOTHING_TAKEN = "no hunk is accepted: n rejects, space accepts a hunk, + accepts all"
IN_CONFLICT = "conflict with the file: r asks the model again, m keeps your version, e merges both by hand"
MARKS_LEFT = "your version still has conflict marks: press e to remove them"


def approval(shown: Shown, thoughts: Thoughts, digest: str) -> Decide | str:
    """What `y` says, or why it can say nothing."""
    picks, proposal = thoughts.picks, shown.proposal
    if shown.in_conflict and thoughts.edited is None:
        return IN_CONFLICT
    if thoughts.edited is not None and has_conflict_marks(thoughts.edited) and shown.in_conflict:
        return MARKS_LEFT
    if picks.count and not picks.taken_count:
        return NOTHING_TAKEN
    if thoughts.edited is not None:
        text = thoughts.edited
        if picks.left_count:
            text = taken_text(shown.before, text, shown.spans, picks.taken)
        reason = _joined(thoughts.reason, picks)
        return Decide(proposal_id=proposal.proposal_id, digest=digest, verdict="approve", text=text, reason=reason)
    if picks.left_count:
        return Decide(
            proposal_id=proposal.proposal_id,
            digest=digest,
            verdict="part",
            hunks=picks.taken,
            hunk_reasons=picks.reasons(),
            reason=thoughts.reason or None,
        )
    reason = thoughts.reason or None
    return Decide(proposal_id=proposal.proposal_id, digest=digest, verdict="approve", reason=reason)


def rejection(shown: Shown, thoughts: Thoughts, digest: str) -> Decide:
    """What `n` says, with the reasons that were given."""
    mine = thoughts.edited is not None or shown.in_conflict
    return Decide(
        proposal_id=shown.proposal.proposal_id,
        digest=digest,
        verdict="reject",
        reason=_joined(thoughts.reason, thoughts.picks) if mine else thoughts.reason or None,
        hunk_reasons={} if mine else thoughts.picks.reasons(),
    )


def way_out(shown: Shown, thoughts: Thoughts, digest: str, verdict: str) -> Decide | str:
    """`again` or `mine`, which only a conflict knows."""
    if not shown.in_conflict:
        return "there is no conflict: y approves, n rejects"
    reason = thoughts.reason or None
    return Decide(proposal_id=shown.proposal.proposal_id, digest=digest, verdict=verdict, reason=reason)


def _joined(reason: str, picks: Picks) -> str | None:
    """In one text what cannot be told hunk by hunk."""
    parts = [reason] if reason else []
    parts += [f"hunk {hunk + 1}: {text}" for hunk, text in picks.reasons().items()]
    return "; ".join(parts) or None
