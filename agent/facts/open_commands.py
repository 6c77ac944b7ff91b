"""The commands and checks that run now, derived from events: what they change is recorded only when they have ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..protocol import CheckFinished, CheckStarted, ProposalDecided, ProposalOpened, ScopeSet, ToolFinished

if TYPE_CHECKING:
    from ..protocol import Event

_CHECK = "a check"


@dataclass(slots=True)
class OpenCommands:
    """Approved calls without a result, and a check that has not ended."""

    running: set[str] = field(default_factory=set[str])
    """Ids of the calls."""
    write_live: bool = False
    """Whether they write to the workspace itself, in a run that is judged."""
    _proposed: dict[str, str] = field(default_factory=dict[str, str])
    """Proposal id to call id."""

    def apply(self, event: Event) -> None:
        """Fold the next event into this state."""
        match event:
            case ProposalOpened(call_id=call_id, command=str()):
                self._proposed[event.proposal_id] = call_id
            case ProposalDecided(decision=decision):
                call_id = self._proposed.pop(event.proposal_id, "")
                if call_id and decision != "reject":
                    self.running.add(call_id)
            case ToolFinished(call_id=call_id):
                self.running.discard(call_id)
            case ScopeSet(in_copy=in_copy, no_views=no_views):
                self.write_live = in_copy or bool(no_views)
            case CheckStarted():
                self.running.add(_CHECK)
            case CheckFinished():
                self.running.discard(_CHECK)
            case _:
                pass
