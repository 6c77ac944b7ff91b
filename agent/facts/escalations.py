"""State of a hand-off: which tiers were asked, and whether another model has taken over."""

from __future__ import annotations

from dataclasses import dataclass

from ..protocol import Event, Fault, HandoffClosed, HandoffOpened, ModelSwitched, Said, TierAsked, TierPassed

ESCALATE, TIER = "escalate", "tier"
"""Causes of a change of models, other than a person."""


@dataclass(slots=True)
class Handing:
    """Hand-off state, derived from events only. Tiers start again after a person's message or resume."""

    reason: str = ""
    """Reason of the newest hand-off."""
    tier: TierAsked | None = None
    """The tier that is being asked, or that accepted the hand-off: a model continues until its time limit."""
    passed: int = 0
    """Number of tiers that are not asked again."""
    escalated: bool = False
    """The rule for a stall was applied, or could not be applied."""

    def apply(self, event: Event) -> None:
        """Fold the next event into this state."""
        match event:
            case HandoffOpened(reason=reason):
                self.reason = reason
            case TierAsked() as asked:
                self.tier = asked
            case TierPassed(number=number):
                self.tier, self.passed = None, number
            case HandoffClosed(by="person") | Said():
                self.tier, self.passed = None, 0
            case HandoffClosed() if self.tier is not None:
                self.passed = self.tier.number
            case ModelSwitched(by="escalate") | Fault(kind="escalate"):
                self.escalated = True
            case _:
                pass
