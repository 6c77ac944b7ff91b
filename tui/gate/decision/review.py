"""All proposals that wait, gone through as one review. No textual in here."""

from __future__ import annotations

from dataclasses import dataclass

from rundry.agent import Decide, ProposalOpened, Rebasing, ViewState

from .following import Content, follow
from .pending_decision import Thoughts


@dataclass(slots=True)
class _Sent:
    """A decision on its way."""

    digest: str
    """What it names."""
    command_id: int | None = None
    """In the inbox; None before it has one, and where the run is resumed with the decision."""
    resumes: bool = False
    """The run is resumed with the decision."""


def _is_under_way(sent: _Sent, name: str, state: ViewState) -> bool:
    """Its proposal is open, and is still the one that was decided on where a runner took the decision."""
    opened = state.proposals.get(name)
    if opened is None or opened.digest == sent.digest:
        return opened is not None
    return not sent.resumes and sent.command_id not in state.taken


class Review:
    """Follows the state; what the person made of a proposal is kept until it was decided."""

    def __init__(self, content: Content) -> None:
        self.waiting: list[ProposalOpened] = []
        """Oldest first."""
        self._content = content
        self._shown: str | None = None
        self._rebased: dict[str, Rebasing] = {}
        self._thoughts: dict[str, Thoughts] = {}
        self._sent: dict[str, _Sent] = {}
        """Decisions without an answer yet, by the proposal's id."""

    @property
    def proposal(self) -> ProposalOpened | None:
        """The one that is shown."""
        return next((proposal for proposal in self.waiting if proposal.proposal_id == self._shown), None)

    @property
    def rebasing(self) -> Rebasing | None:
        """Of the one that is shown."""
        return self._rebased.get(self._shown or "")

    @property
    def thoughts(self) -> Thoughts:
        """Of the one that is shown."""
        return self._thoughts.setdefault(self._shown or "", Thoughts())

    @property
    def place(self) -> tuple[int, int]:
        """`(1, 3)`: the first of three."""
        ids = [proposal.proposal_id for proposal in self.waiting]
        return (ids.index(self._shown) + 1 if self._shown in ids else 0), len(ids)

    @property
    def is_answered(self) -> bool:
        """A decision on the shown one is on its way."""
        return self._shown in self._sent

    def look(self, state: ViewState) -> None:
        """Take in what waits now."""
        at = max(0, self.place[0] - 1)
        was = {proposal.proposal_id: proposal for proposal in self.waiting}
        self.waiting, self._rebased = list(state.proposals.values()), dict(state.rebased)
        for gone in self._thoughts.keys() - state.proposals.keys():
            del self._thoughts[gone]
        self._sent = {name: sent for name, sent in self._sent.items() if _is_under_way(sent, name, state)}
        for proposal in self.waiting:
            before = was.get(proposal.proposal_id)
            if before is not None and before != proposal and proposal.proposal_id in self._thoughts:
                follow(self._thoughts[proposal.proposal_id], before, proposal, self._content)
        if self.proposal is None:
            rest = [*self.waiting[at:], *self.waiting[:at]]
            free = [proposal for proposal in rest if proposal.proposal_id not in self._sent]
            self._shown = next((proposal.proposal_id for proposal in (*free, *rest)), None)

    def go(self, by: int) -> None:
        """To the next or the previous one, round at the ends."""
        if self.waiting:
            at = (self.place[0] - 1 + by) % len(self.waiting)
            self._shown = self.waiting[at].proposal_id

    def answer(self, command: Decide) -> None:
        """Its proposal is being decided; the next one that is not follows."""
        self._sent[command.proposal_id] = _Sent(command.digest)
        place, count = self.place
        for step in range(count):
            name = self.waiting[(place + step) % count].proposal_id
            if name not in self._sent:
                self._shown = name
                return

    def sent(self, proposal_id: str, command_id: int | None) -> None:
        """The decision has this id in the inbox; None: the run is resumed with it."""
        if proposal_id in self._sent:
            self._sent[proposal_id].command_id, self._sent[proposal_id].resumes = command_id, command_id is None

    def take_back(self, proposal_id: str) -> None:
        """It could not be sent: it is open again."""
        self._sent.pop(proposal_id, None)

    def take_back_unsent(self) -> None:
        """The run was resumed with a decision, and its proposal is still open: it did not take effect."""
        self._sent = {name: sent for name, sent in self._sent.items() if not sent.resumes}

    def refusal(self, state: ViewState) -> str | None:
        """A decision that the runner did not take, once: why, and of which proposal where that is not the shown one."""
        for name, sent in self._sent.items():
            why = None if sent.command_id is None else state.refused.get(sent.command_id)
            if why is not None:
                del self._sent[name]
                of = next((p.path or p.command or "" for p in self.waiting if p.proposal_id == name), "")
                return f"not accepted: {why}" if name == self._shown else f"not accepted, {of}: {why}"
        return None
