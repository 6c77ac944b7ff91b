"""Review all waiting proposals together, and approve all files of one answer. Does not import textual."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set as AbstractSet
from dataclasses import dataclass, field
from posixpath import commonpath
from typing import TYPE_CHECKING, Protocol

from rundry.agent import Decide, ProposalOpened, RundryError, plural

from ..text.show_text import path_line
from .entry_choices import as_file, is_single, opened_entry
from .follow_file import follow
from .hunk_choices import HunkChoices
from .pending_decision import PendingDecision, Shown, approval

if TYPE_CHECKING:
    from rundry.agent import CommandEffects, EntryChoice, RebaseResult

ONE_FILE = "no other file of this answer waits: {approve} approves this one"


class Waiting(Protocol):
    """The proposals that wait, and the answers to decisions: `ViewState`, or a review without a runner."""

    @property
    def proposals(self) -> Mapping[str, ProposalOpened]:
        """Open proposals, oldest first."""
        ...

    @property
    def rebased(self) -> Mapping[str, RebaseResult]:
        """Proposal id to its newest rebase."""
        ...

    @property
    def refused(self) -> Mapping[int, str]:
        """Command id to the reason why it was refused."""
        ...

    @property
    def taken(self) -> AbstractSet[int]:
        """Ids of the commands that were carried out."""
        ...


class ProposalSource(Protocol):
    """Where the proposals of a gate come from: `RunController`, or a review without a runner."""

    def content(self, blob: str | None) -> bytes | None:
        """Return the bytes of a blob, or None if `blob` is None. Raises RundryError if the journal does not have it."""
        ...

    def decide(self, command: Decide) -> int | None:
        """Decide on a proposal. Return the command's id, or None if no runner has it. Raises RundryError."""
        ...


@dataclass(slots=True)
class _Sent:
    """A decision that was sent and has no answer yet."""

    digest: str
    """The digest that it names."""
    command_id: int | None = None
    """Its id in the inbox, or None until it has one and if the run is resumed with the decision."""
    resumes: bool = False
    """The run is resumed with the decision."""


def _is_under_way(sent: _Sent, name: str, state: Waiting) -> bool:
    """Return whether a decision is in progress: its proposal is open, and unchanged if a runner has the decision."""
    opened = state.proposals.get(name)
    if opened is None or opened.digest == sent.digest:
        return opened is not None
    return not sent.resumes and sent.command_id not in state.taken


def _answer(proposal: ProposalOpened) -> tuple[str, str]:
    """Return what the proposals of one model answer have in common: the ids of its calls end in their numbers."""
    return proposal.call_id.rpartition("_")[0], proposal.who


def _order(proposal: ProposalOpened) -> int:
    """Return the place by risk. It only says what is shown first: each proposal is decided on its own."""
    if proposal.danger and proposal.beyond is None:
        return 0  # it needs approval in every mode
    if proposal.beyond is not None or proposal.is_outside or proposal.server is not None or proposal.url is not None:
        return 1  # it reaches the network, or something else outside of the sandbox
    return 2 if _deletes(proposal) else 3


def _deletes(proposal: ProposalOpened) -> bool:
    if proposal.effects is not None:
        return any(entry.change == "deleted" for entry in proposal.effects.entries)
    return proposal.path is not None and proposal.before is not None and proposal.after is None


class Review:
    """Follows the state of the run, and keeps the person's choices on each proposal until it is decided."""

    def __init__(self, source: ProposalSource) -> None:
        self.waiting: list[ProposalOpened] = []
        """The waiting proposals: those with the highest risk first, among equal ones the oldest."""
        self._source = source
        self._files: dict[tuple[str, int], ProposalOpened] = {}
        """The open entry as a proposal for its file, by the digest of its proposal and its index."""
        self._shown: str | None = None
        self._rebased: dict[str, RebaseResult] = {}
        self._pending: dict[str, PendingDecision] = {}
        self._painted: dict[str, tuple[Shown, bool]] = {}
        """For each proposal what was painted last, and whether its end was visible."""
        self._seen = set[str]()
        """The proposals that were painted at least once."""
        self._sent: dict[str, _Sent] = {}
        """Decisions without an answer yet, by the proposal's id."""

    @property
    def whole(self) -> ProposalOpened | None:
        """The proposal that is decided next."""
        return next((proposal for proposal in self.waiting if proposal.proposal_id == self._shown), None)

    @property
    def proposal(self) -> ProposalOpened | None:
        """The proposal that is shown. An open entry of a command's changes is shown as a proposal for its file."""
        whole, opened = self.whole, self.opened
        return whole if whole is None or opened is None else self._as_file(whole, opened)

    @property
    def opened(self) -> int | None:
        """The entry whose text is shown, or None if the list of entries is shown, or the proposal has no entries."""
        whole = self.whole
        return None if whole is None else opened_entry(whole, self.whole_pending)

    @property
    def is_entry_of_several(self) -> bool:
        """Whether one entry of a list is shown."""
        return self.opened is not None and not self.is_only_entry

    @property
    def is_only_entry(self) -> bool:
        """Whether the proposal has one text and nothing else."""
        whole = self.whole
        return whole is not None and whole.effects is not None and is_single(whole.effects)

    def _as_file(self, whole: ProposalOpened, index: int) -> ProposalOpened:
        from rundry.agent import entry_diff  # the gate costs ~15 ms to import

        assert whole.effects is not None  # an entry is open
        key = (whole.digest, index)
        if key not in self._files:
            try:
                diff = entry_diff(whole.effects.entries[index], self._source.content)
            except RundryError:
                diff = ""
            self._files = {key: as_file(whole, index, diff)}
        return self._files[key]

    @property
    def rebasing(self) -> RebaseResult | None:
        """How the shown proposal was rebased."""
        return self._rebased.get(self._shown or "")

    @property
    def pending(self) -> PendingDecision:
        """The person's choices on what is shown: a proposal, or the open entry of one."""
        whole, opened = self.whole_pending, self.opened
        return whole if opened is None else whole.entries.pending.setdefault(opened, PendingDecision())

    @property
    def whole_pending(self) -> PendingDecision:
        """The person's choices on the whole proposal."""
        pending = self._pending.setdefault(self._shown or "", PendingDecision())
        whole = self.whole
        count = 0 if whole is None or whole.effects is None else len(whole.effects.entries)
        if count and pending.picks.count != count:
            pending.choose(HunkChoices(count))
        return pending

    def pending_of(self, name: str) -> PendingDecision:
        """Return the decision in progress on a waiting proposal, shown or not."""
        return self._pending.get(name, PendingDecision())

    def rebasing_of(self, name: str) -> RebaseResult | None:
        """Return how a waiting proposal was rebased, or None if it was not."""
        return self._rebased.get(name)

    def note_painted(self, shown: Shown, *, read: bool) -> None:
        """Remember what was painted, and whether its end was visible."""
        name = shown.proposal.proposal_id
        self._seen.add(self._shown or name)
        if (opened := self.opened) is not None:
            entries = self.whole_pending.entries
            entries.shown[opened] = shown
            entries.read |= {opened} if read else set()
            return
        before = self._painted.get(name)
        was_read = before is not None and before[1] and before[0].proposal.digest == shown.proposal.digest
        self._painted[name] = (shown, read or was_read)

    def painted_of(self, proposal: ProposalOpened) -> Shown | None:
        """Return how this proposal was painted, or None if it was not painted or changed since then."""
        found = self._painted.get(proposal.proposal_id)
        return found[0] if found is not None and found[0].proposal.digest == proposal.digest else None

    def was_read(self, proposal: ProposalOpened) -> bool:
        """Whether its end was visible as it is now."""
        return self.painted_of(proposal) is not None and self._painted[proposal.proposal_id][1]

    @property
    def place(self) -> tuple[int, int]:
        """Return the place of the shown proposal: `(1, 3)` is the first of three."""
        ids = [proposal.proposal_id for proposal in self.waiting]
        return (ids.index(self._shown) + 1 if self._shown in ids else 0), len(ids)

    @property
    def is_answered(self) -> bool:
        """Return whether a decision on the shown proposal is in progress."""
        return self._shown in self._sent

    def update(self, state: Waiting) -> None:
        """Take in the proposals that wait now."""
        at = max(0, self.place[0] - 1)
        was = {proposal.proposal_id: proposal for proposal in self.waiting}
        self.waiting, self._rebased = sorted(state.proposals.values(), key=_order), dict(state.rebased)
        for gone in self._pending.keys() - state.proposals.keys():
            del self._pending[gone]
        self._painted = {name: seen for name, seen in self._painted.items() if name in state.proposals}
        self._sent = {name: sent for name, sent in self._sent.items() if _is_under_way(sent, name, state)}
        for proposal in self.waiting:
            before = was.get(proposal.proposal_id)
            if before is not None and before != proposal and proposal.proposal_id in self._pending:
                follow(self._pending[proposal.proposal_id], before, proposal, self._source.content)
        if self._shown is not None and self._shown not in self._seen and was.keys() < state.proposals.keys():
            self._shown, at = None, 0  # nobody saw it: what came with it can have a higher risk
        if self.whole is None:
            rest = [*self.waiting[at:], *self.waiting[:at]]
            free = [proposal for proposal in rest if proposal.proposal_id not in self._sent]
            self._shown = next((proposal.proposal_id for proposal in (*free, *rest)), None)

    def rest_of_answer(self) -> list[ProposalOpened]:
        """Return the proposals of the model answer of the shown one that still need a decision, in their order."""
        shown = self.whole
        if shown is None or not shown.files:
            return [] if shown is None else [shown]
        mine = _answer(shown)
        return [
            each for each in self.waiting if each.files and _answer(each) == mine and each.proposal_id not in self._sent
        ]

    def go(self, by: int) -> None:
        """Go to the next or the previous proposal; after the last comes the first."""
        if self.waiting:
            at = (self.place[0] - 1 + by) % len(self.waiting)
            self._shown = self.waiting[at].proposal_id

    def answer(self, command: Decide) -> None:
        """Record that the proposal of this command is being decided, and go to the next undecided one."""
        self._sent[command.proposal_id] = _Sent(command.digest)
        place, count = self.place
        for step in range(count):
            name = self.waiting[(place + step) % count].proposal_id
            if name not in self._sent:
                self._shown = name
                return

    def sent(self, proposal_id: str, command_id: int | None) -> None:
        """Record the id of this decision in the inbox, or None if the run is resumed with the decision."""
        if proposal_id in self._sent:
            self._sent[proposal_id].command_id, self._sent[proposal_id].resumes = command_id, command_id is None

    def take_back(self, proposal_id: str) -> None:
        """Reopen a proposal whose decision could not be sent."""
        self._sent.pop(proposal_id, None)

    def take_back_unsent(self) -> None:
        """Reopen the proposals whose decisions took no effect: the run was resumed, and they are still open."""
        self._sent = {name: sent for name, sent in self._sent.items() if not sent.resumes}

    def refusal(self, state: Waiting) -> str | None:
        """Return once why the runner refused a decision, and its proposal if that is not the shown one."""
        for name, sent in self._sent.items():
            why = None if sent.command_id is None else state.refused.get(sent.command_id)
            if why is not None:
                del self._sent[name]
                of = next((p.path or p.command or p.host or "" for p in self.waiting if p.proposal_id == name), "")
                return f"not accepted: {why}" if name == self._shown else f"not accepted, {of}: {why}"
        return None


def restore_choices(effects: CommandEffects, pending: PendingDecision, choices: Mapping[int, EntryChoice]) -> None:
    """Begin with the choices of an earlier review that had no end.

    `pending`: of the whole proposal, without any choice yet. `choices`: by the index of the entry.
    """
    for at, choice in choices.items():
        if choice.skip:
            pending.set_accepted(at, accepted=False)
            pending.picks.give_reason(at, choice.reason)
            continue
        own = pending.entries.pending.setdefault(at, PendingDecision())
        own.reason, own.edited = choice.reason, choice.text
        if choice.hunks is not None:
            own.cuts = dict(choice.cuts)
            count = effects.entries[at].hunks + sum(map(len, own.cuts.values()))
            own.choose(HunkChoices(count, {*range(count)} - {*choice.hunks}, dict(choice.hunk_reasons)))


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
        return "; ".join([head, *([told] if unread else []), *self.excluded])

    @property
    def excluded(self) -> Iterator[str]:
        """Yield a sentence for each file that is left out."""
        return (f"{line}, so it stays" for line in self.left_out)


def plan_approval(review: Review) -> Plan:
    """Return what approves the remaining files of the answer, each as it was chosen or shown."""
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
        if pending.edited is not None or pending.picks.skipped_count:
            return "changed after you chose in it"
        shown = Shown(proposal, rebasing)
    found = approval(shown, pending, proposal.digest)
    return "has no accepted hunk, or conflict marks" if isinstance(found, str) else found
