"""State of hand-offs: the open one, which tiers were asked, and whether another model has taken over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...protocol import (
    PERSON,
    Event,
    Fault,
    HandoffClosed,
    HandoffOpened,
    ModelSwitched,
    Said,
    Stamped,
    SwitchedBy,
    TierAsked,
    TierPassed,
    is_client,
)

ESCALATE: Literal["escalate"] = "escalate"
TIER: SwitchedBy = "tier"
"""Causes of a change of models, other than a person."""


@dataclass(slots=True)
class HandoffFacts:
    """Hand-off state, derived from events only.

    After a message of a person or a resume, the first tier is asked again.
    """

    opened: HandoffOpened | None = None
    """The hand-off that is still open, or None if there is none."""
    newest: HandoffOpened | None = None
    """The newest hand-off, open or closed."""
    opened_at: float = 0.0
    """Unix time of the newest hand-off."""
    tier: TierAsked | None = None
    """The tier that is being asked, or that accepted the hand-off: a model continues until its time limit."""
    passed: int = 0
    """Number of tiers that are not asked again."""
    escalated: bool = False
    """The rule for a stall was applied, or could not be applied."""

    @property
    def reason(self) -> str:
        """Reason of the newest hand-off, or empty if there was none."""
        return self.newest.reason if self.newest is not None else ""

    @property
    def asked(self) -> TierAsked | None:
        """The tier that is being asked to accept the open hand-off."""
        return self.tier if self.opened is not None else None

    def apply(self, stamped: Stamped) -> None:
        """Fold the next event of the types in `HANDOFF_EVENTS`."""
        match stamped.event:
            case HandoffOpened() as opened:
                self.opened = self.newest = opened
                self.opened_at = stamped.at
            case TierAsked() as asked:
                self.tier = asked
            case TierPassed(number=number):
                self.tier, self.passed = None, number
            case HandoffClosed(by=by):
                self.opened = None
                if by == PERSON or is_client(by):
                    self.tier, self.passed = None, 0
                elif self.tier is not None:
                    self.passed = self.tier.number
            case Said():
                self.tier, self.passed = None, 0
            case ModelSwitched(by="escalate") | Fault(kind="escalate"):
                self.escalated = True
            case _:
                pass


HANDOFF_EVENTS = frozenset[type[Event]](
    (HandoffOpened, HandoffClosed, TierAsked, TierPassed, Said, ModelSwitched, Fault)
)
"""The events that change `HandoffFacts`; all others are ignored."""
