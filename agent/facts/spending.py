"""Usage of a run's budget, derived from events: charged, held, and admitted but not yet charged."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..journal.integrity.tail import Used
from ..protocol import (
    CallAdmitted,
    Charged,
    Fault,
    HoldReleased,
    ModelShare,
    RunEnded,
    RunResumed,
    Said,
    Spent,
    Stamped,
    StepFinished,
    StepStarted,
    Tokens,
    Unknown,
)
from .shares import add_charge

_REMEMBERED = 50
"""Number of prompts from which the margin is learned."""

SPENDS = (Charged, Fault, HoldReleased, RunEnded, RunResumed, StepFinished, StepStarted)
"""Events that change the usage of a limit."""


@dataclass(slots=True)
class Spending:
    """Usage of a run, derived from events only."""

    spent: Spent = field(default_factory=Spent)
    message_from: Spent = field(default_factory=Spent)
    """Usage when the newest message of a chat arrived: the message's budget starts there."""
    shares: dict[str, ModelShare] = field(default_factory=dict[str, ModelShare])
    """Usage by model, in the order of their first calls."""
    admitted: dict[str | None, CallAdmitted] = field(default_factory=dict[str | None, CallAdmitted])
    """Admitted calls that were neither charged nor abandoned yet, by work."""
    holds: dict[int, Charged] = field(default_factory=dict[int, Charged])
    """Charges for which the provider may still bill more, by their position in the journal."""
    message_at: int = 0
    """Position of the newest message of a chat in the journal."""
    is_damaged: bool = False
    """An event could not be read and may have been a charge."""
    margins: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """(our count, billed) of prompts whose usage the provider reported."""

    @property
    def since_message(self) -> Spent:
        """Usage since the newest message of a chat."""
        a, b = self.spent, self.message_from
        return Spent(
            steps=a.steps - b.steps,
            tokens=Tokens(
                a.tokens.in_ - b.tokens.in_,
                a.tokens.out - b.tokens.out,
                a.tokens.cached - b.tokens.cached,
                a.tokens.reasoning - b.tokens.reasoning,
            ),
            usd=a.usd - b.usd,
            seconds=a.seconds - b.seconds,
            held_tokens=a.held_tokens - b.held_tokens,
            held_usd=a.held_usd - b.held_usd,
            unpriced=a.unpriced,
            estimated=a.estimated,
        )

    @property
    def used(self) -> Used:
        """What counts against the limits of the run; running calls count with their worst case."""
        spent, calls = self.spent, self.admitted.values()
        return Used(
            spent.steps,
            spent.counted_tokens + sum(call.worst_tokens for call in calls),
            spent.counted_usd + sum(call.worst_usd or 0.0 for call in calls),
            spent.seconds,
        )

    def used_with(self, admitted: CallAdmitted, work: str | None) -> Used:
        """Return the same, including a call that is about to be admitted."""
        used, before = self.used, self.admitted.get(work)
        return used._replace(
            tokens=used.tokens + admitted.worst_tokens - (before.worst_tokens if before else 0),
            usd=used.usd + (admitted.worst_usd or 0.0) - ((before.worst_usd or 0.0) if before else 0.0),
        )

    def apply(self, stamped: Stamped) -> None:
        """Fold the next event into this state."""
        match stamped.event:
            case StepStarted():
                self.spent += Spent(steps=1)
            case CallAdmitted() as admitted:
                if self.is_damaged and stamped.work in self.admitted:
                    self._hold(self.admitted[stamped.work])
                self.admitted[stamped.work] = admitted
            case Unknown(type="damaged"):
                self.is_damaged = True
            case RunResumed(lost_steps=steps, lost_seconds=seconds):
                self.spent += Spent(steps=steps, seconds=seconds)
            case Charged() as charged:
                self.admitted.pop(stamped.work, None)
                self._charge(charged)
                if charged.held_until is not None and (charged.held_tokens or charged.held_usd):
                    self.holds[stamped.seq] = charged
            case HoldReleased() as released:
                self._release(released)
            case Fault():
                self.admitted.pop(stamped.work, None)
            case StepFinished(seconds=seconds):
                self.spent += Spent(seconds=seconds)
            case Said():
                self.message_from, self.message_at = self.spent, stamped.seq
            case RunEnded(seconds=seconds):
                self.spent += Spent(seconds=max(0.0, seconds - self.spent.seconds))
            case _:
                pass

    def _hold(self, admitted: CallAdmitted) -> None:
        """Hold the worst case of a call whose charge cannot be read."""
        self.spent += Spent(held_tokens=admitted.worst_tokens, held_usd=admitted.worst_usd or 0.0)

    def _release(self, released: HoldReleased) -> None:
        if self.holds.pop(released.charge, None) is None:
            return
        freed = Spent(held_tokens=-released.tokens, held_usd=-released.usd)
        self.spent += freed
        if released.charge < self.message_at:
            self.message_from += freed

    def _charge(self, charged: Charged) -> None:
        add_charge(self.shares, charged)
        self.spent += spent_by(charged)
        if not charged.estimated and charged.prompt_counted:
            self.margins.append((charged.prompt_counted, charged.tokens_in))
            del self.margins[:-_REMEMBERED]


def spent_by(charged: Charged) -> Spent:
    """Return the usage of one call, including what its provider may still bill."""
    return Spent(
        tokens=Tokens(charged.tokens_in, charged.tokens_out, charged.tokens_cached, charged.tokens_reasoning),
        usd=charged.usd or 0.0,
        held_tokens=charged.held_tokens,
        held_usd=charged.held_usd,
        unpriced=charged.usd is None,
        estimated=charged.estimated,
    )
