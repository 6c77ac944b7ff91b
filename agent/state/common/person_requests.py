"""Proposals and questions to a person, open and answered, derived from events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from ...protocol import (
    Event,
    ProposalDecided,
    ProposalOpened,
    ProposalRebased,
    QuestionAnswered,
    QuestionAsked,
    Rewound,
    RunEnded,
    RunResumed,
    Stamped,
    StepStarted,
    ToolFinished,
    is_client,
)
from ...protocol.effects import EXECUTABLE


@dataclass(frozen=True, slots=True)
class Rebase:
    """The newest rebase of an open proposal, after its file changed on disk."""

    at: float
    """Unix time."""
    event: ProposalRebased


@dataclass(slots=True)
class PersonRequests:
    """Proposals and questions of a run, derived from events only."""

    proposals: dict[str, ProposalOpened] = field(default_factory=dict[str, ProposalOpened])
    """Open proposals, by their id, in the newest version that fits the files."""
    rebases: dict[str, Rebase] = field(default_factory=dict[str, Rebase])
    """Proposal id to its newest rebase, which may be a conflict."""
    ends_with_runner: set[str] = field(default_factory=set[str])
    """Open proposals that end with their runner: those of search items, or of commands that already ran."""
    lost: set[str] = field(default_factory=set[str])
    """Open proposals that ended in this way and cannot be shown again."""
    refused: list[ProposalOpened] = field(default_factory=list[ProposalOpened])
    """What the policy refused in the newest step because nobody was available to ask."""
    unnamed: list[str] = field(default_factory=list[str])
    """Executable files whose change it refused for that reason; the user can name them with `--scope`."""
    refused_files: set[str] = field(default_factory=set[str])
    """Files of which a change was refused, by a person or because nobody was there, and none was approved since."""
    uninstalled: str = ""
    """The newest command whose install it refused for that reason; it may be the user's `--setup`."""
    proposal_ids: list[str] = field(default_factory=list[str])
    """Newest id of each call without a result, and of proposals without a call. Call ids occur only once."""
    approved: dict[str, ProposalOpened] = field(default_factory=dict[str, ProposalOpened])
    """Approved proposals whose call has no result yet, by call id: the action may have happened."""
    beyond: set[str] = field(default_factory=set[str])
    """Commands of the newest step that may have been repeated with more than the sandbox allows."""
    decisions: dict[str, ProposalDecided] = field(default_factory=dict[str, ProposalDecided])
    """The decisions that approved them, by call id."""
    questions: dict[str, QuestionAsked] = field(default_factory=dict[str, QuestionAsked])
    """Open questions, by their id."""
    clients: list[str] = field(default_factory=list[str])
    """MCP clients that approved a proposal, in the order of their first approval."""
    answers: dict[str, str] = field(default_factory=dict[str, str])
    """A person's answers, by question id."""

    def apply(self, stamped: Stamped) -> None:
        """Fold the next event of the types in `REQUEST_EVENTS`."""
        match stamped.event:
            case StepStarted():
                self.refused = []
                self.beyond.clear()
            case ToolFinished(call_id=call_id):
                self.approved.pop(call_id, None)
                self.decisions.pop(call_id, None)
                self.questions.pop(call_id, None)
                for name in [name for name in self.questions if name.startswith(f"{call_id}.")]:
                    del self.questions[name]  # an MCP server asked during the call
                self._forget_ids(proposal_base(call_id))
            case ProposalOpened() as opened:
                self._open(opened, is_of_main=stamped.work is None)
            case ProposalRebased() as rebased:
                self._rebase(rebased, stamped.at)
            case ProposalDecided() as decided:
                self._decide(decided)
            case RunEnded() | RunResumed():
                self.lost |= self.ends_with_runner
            case Rewound():  # the calls of the proposals no longer exist
                for known in (self.proposals, self.rebases, self.ends_with_runner, self.lost):
                    known.clear()
            case QuestionAsked() as asked:
                self.questions[asked.question_id] = asked
            case QuestionAnswered(question_id=question_id, text=text):
                self.questions.pop(question_id, None)
                self.answers[question_id] = text
            case _:
                pass

    def waiting_for(self, call_id: str) -> ProposalOpened | None:
        """Return the open proposal of a call."""
        return next((opened for opened in self.proposals.values() if call_id and opened.call_id == call_id), None)

    def waiting(self) -> dict[str, ProposalOpened]:
        """Return the proposals that wait for a person, oldest first, with the changes of their newest rebase."""
        return {
            name: as_rebased(opened, self.rebases[name].event) if name in self.rebases else opened
            for name, opened in self.proposals.items()
            if opened.asks and name not in self.lost
        }

    def conflict_of(self, proposal_id: str) -> str | None:
        """Return the digest of the conflict of an open proposal, or None if it fits the files."""
        rebase = self.rebases.get(proposal_id)
        return rebase.event.digest if rebase is not None and rebase.event.conflict else None

    def _open(self, opened: ProposalOpened, *, is_of_main: bool) -> None:
        name = opened.proposal_id
        self._forget(name)
        self.proposals[name] = opened
        if not (is_of_main and opened.call_id):
            self.ends_with_runner.add(name)
        self._forget_ids(base_of(name))
        self.proposal_ids.append(name)
        self.approved.pop(opened.call_id, None)  # the approval is stale: only a new decision counts
        self.decisions.pop(opened.call_id, None)

    def _forget(self, proposal_id: str) -> ProposalOpened | None:
        self.rebases.pop(proposal_id, None)
        self.ends_with_runner.discard(proposal_id)
        self.lost.discard(proposal_id)
        return self.proposals.pop(proposal_id, None)

    def _forget_ids(self, base: str) -> None:
        if self.proposal_ids:
            self.proposal_ids = [name for name in self.proposal_ids if base_of(name) != base]

    def _rebase(self, rebased: ProposalRebased, at: float) -> None:
        opened = self.proposals.get(rebased.proposal_id)
        if opened is None:
            return
        self.rebases[rebased.proposal_id] = Rebase(at, rebased)
        if not rebased.conflict:
            self.proposals[rebased.proposal_id] = as_rebased(opened, rebased)

    def _decide(self, decided: ProposalDecided) -> None:
        opened = self._forget(decided.proposal_id)
        if opened is None:
            return
        executables = _executables_of(opened)
        approved, refused = _files_of(opened, decided)
        self.refused_files = (self.refused_files | refused) - approved
        if decided.decision != "reject":
            self.unnamed = [path for path in self.unnamed if path not in executables]
            if opened.effects is not None and opened.effects.command == self.uninstalled:
                self.uninstalled = ""
            if is_client(decided.by) and decided.by not in self.clients:
                self.clients.append(decided.by)
            if opened.beyond is not None and opened.command is not None:
                self.beyond.add(opened.command)
            if opened.call_id:
                after = decided.after or opened.after
                self.approved[opened.call_id] = msgspec.structs.replace(opened, after=after)
                self.decisions[opened.call_id] = decided
        elif decided.by == "policy" and opened.asks:
            self.refused.append(opened)
            self.unnamed = [*dict.fromkeys([*self.unnamed, *executables])]
            self.uninstalled = _install_of(opened) or self.uninstalled


def _files_of(opened: ProposalOpened, decided: ProposalDecided) -> tuple[set[str], set[str]]:
    """Return the files of a proposal of which something was approved, and those of which nothing was."""
    paths = [] if opened.path is None else [opened.path]
    skipped = set[str]()
    if opened.effects is not None:
        paths = [entry.path for entry in opened.effects.entries]
        skipped = {entry.path for at, entry in enumerate(opened.effects.entries) if _is_skipped(decided, at)}
    refused = set(paths) if decided.decision == "reject" else skipped
    return set(paths) - refused, refused


def _is_skipped(decided: ProposalDecided, at: int) -> bool:
    return at in decided.entries and decided.entries[at].skipped


def _executables_of(opened: ProposalOpened) -> list[str]:
    """Return the files of a proposal that asks because they are executable."""
    if opened.effects is not None:
        return [entry.path for entry in opened.effects.entries if entry.why == [EXECUTABLE]]
    path = opened.path
    return [path] if path is not None and opened.asks == [f"{path}: {EXECUTABLE}"] else []


def _install_of(opened: ProposalOpened) -> str:
    """Return the command of a proposal that installs something, or empty if it does not."""
    effects = opened.effects
    is_install = effects is not None and any(entry.kind == "install" for entry in effects.entries)
    return effects.command if effects is not None and is_install else ""


REQUEST_EVENTS = frozenset[type[Event]](
    (
        StepStarted,
        ToolFinished,
        ProposalOpened,
        ProposalRebased,
        ProposalDecided,
        QuestionAsked,
        QuestionAnswered,
        Rewound,
        RunEnded,
        RunResumed,
    )
)
"""The events that change `PersonRequests`; all others are ignored."""


def proposal_base(call_id: str) -> str:
    """Return the id of the first proposal of a call; an empty `call_id` means a proposal without a call."""
    return f"p_{call_id or 'x'}"


def base_of(proposal_id: str) -> str:
    """Return the id of the first proposal of the same call."""
    return proposal_id.partition(".")[0]


def next_proposal_id(call_id: str, given: Iterable[str]) -> str:
    """Return an id that is unique in the run. `given` has at least the newest earlier id of this call."""
    base = proposal_base(call_id)
    numbers = [int(name.partition(".")[2] or 1) for name in given if base_of(name) == base]
    return f"{base}.{max(numbers) + 1}" if numbers else base


def as_rebased(opened: ProposalOpened, rebased: ProposalRebased) -> ProposalOpened:
    """Return the proposal with the changes of a rebase."""
    return msgspec.structs.replace(
        opened,
        diff=rebased.diff,
        digest=rebased.digest,
        before=rebased.before,
        after=rebased.after,
        hunks=rebased.hunks,
        added=rebased.added,
        removed=rebased.removed,
    )
