"""How far a run was handed on: who was asked already, and whether another model has taken over."""

from __future__ import annotations

from dataclasses import dataclass

from ..protocol import Event, Fault, HandoffClosed, HandoffOpened, ModelSwitched, Said, TierAsked, TierPassed

ESCALATE, TIER = "escalate", "tier"
"""Whose doing a change of models was, beside a person's."""


@dataclass(slots=True)
class Handing:
    """Derived from events alone. The ladder of tiers begins anew once a person said something or took the run up."""

    reason: str = ""
    """Of the newest hand-off."""
    tier: TierAsked | None = None
    """Who is asked now, or who took it up: a model has its time."""
    passed: int = 0
    """Tiers that are not asked again."""
    escalated: bool = False
    """The rule for a stall was used, or could not be."""

    def apply(self, event: Event) -> None:
        """Takes in the next event, in order."""
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
