"""All proposals that wait, gone through as one review. No textual in here."""

from __future__ import annotations

from rundry.agent import ProposalOpened

from ..state import Rebasing, ViewState
from .following import Content, follow
from .thoughts import Thoughts


class Review:
    """Follows the state; what the person made of a proposal is kept until it was decided."""

    def __init__(self, content: Content) -> None:
        self.waiting: list[ProposalOpened] = []
        """Oldest first."""
        self._content = content
        self._shown: str | None = None
        self._rebased: dict[str, Rebasing] = {}
        self._thoughts: dict[str, Thoughts] = {}
        self._sent: dict[str, int | None] = {}
        """Decisions without an answer yet: proposal to the command's id, None before it has one."""

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
        self._sent = {name: sent for name, sent in self._sent.items() if name in state.proposals}
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

    def answer(self, proposal_id: str) -> None:
        """It is being decided; the next one that is not follows."""
        self._sent[proposal_id] = None
        place, count = self.place
        for step in range(count):
            name = self.waiting[(place + step) % count].proposal_id
            if name not in self._sent:
                self._shown = name
                return

    def sent(self, proposal_id: str, command_id: int) -> None:
        """The decision has this id in the inbox."""
        if proposal_id in self._sent:
            self._sent[proposal_id] = command_id

    def take_back(self, proposal_id: str) -> None:
        """It could not be sent: it is open again."""
        self._sent.pop(proposal_id, None)

    def refusal(self, state: ViewState) -> str | None:
        """A decision that the runner did not take, once: why, and of which proposal where that is not the shown one."""
        for name, command_id in self._sent.items():
            why = None if command_id is None else state.refused.get(command_id)
            if why is not None:
                del self._sent[name]
                of = next((p.path or p.command or "" for p in self.waiting if p.proposal_id == name), "")
                return f"not taken: {why}" if name == self._shown else f"not taken, {of}: {why}"
        return None
