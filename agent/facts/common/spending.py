"""Usage of a run's budget, derived from events: charged, held, and admitted but not yet charged."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace

from ...journal.integrity.tail import Used
from ...protocol import (
    CallAdmitted,
    Charged,
    Event,
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

    since: Spent = field(default_factory=Spent)
    """Usage since the person's newest message: in a chat, each message has its own budget."""
    before: Spent = field(default_factory=Spent)
    """Usage before that message."""
    shares: dict[str, ModelShare] = field(default_factory=dict[str, ModelShare])
    """Usage by model, in the order of their first calls."""
    admitted: dict[str | None, CallAdmitted] = field(default_factory=dict[str | None, CallAdmitted])
    """Admitted calls that were neither charged nor abandoned yet, by work."""
    holds: dict[int, Charged] = field(default_factory=dict[int, Charged])
    """Charges for which the provider may still bill more, by their position in the journal."""
    message_at: int = 0
    """Position of that message in the journal; 0: there was none."""
    is_damaged: bool = False
    """An event could not be read and may have been a charge."""
    margins: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """(our count, billed) of prompts whose usage the provider reported."""

    @property
    def spent(self) -> Spent:
        """Usage of the whole run."""
        return self.before + self.since if self.message_at else self.since

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
        """Fold the next event of the types in `SPENDING_EVENTS`."""
        match stamped.event:
            case Charged() as charged:
                self.admitted.pop(stamped.work, None)
                self._charge(charged)
                if charged.held_until is not None and (charged.held_tokens or charged.held_usd):
                    self.holds[stamped.seq] = charged
            case CallAdmitted() as admitted:
                if self.is_damaged and stamped.work in self.admitted:
                    self._hold(self.admitted[stamped.work])
                self.admitted[stamped.work] = admitted
            case StepStarted():
                self.since = replace(self.since, steps=self.since.steps + 1)
            case StepFinished(seconds=seconds):
                self._take_time(seconds)
            case Said():
                self.before, self.since, self.message_at = self.spent, Spent(), stamped.seq
            case HoldReleased() as released:
                self._release(released)
            case Fault():
                self.admitted.pop(stamped.work, None)
            case Unknown(type="damaged"):
                self.is_damaged = True
            case RunResumed(lost_steps=steps, lost_seconds=seconds):
                self.since += Spent(steps=steps, seconds=seconds)
            case RunEnded(seconds=seconds):
                self._take_time(max(0.0, seconds - self.spent.seconds))
            case _:
                pass

    def _take_time(self, seconds: float) -> None:
        self.since = replace(self.since, seconds=self.since.seconds + seconds)

    def _hold(self, admitted: CallAdmitted) -> None:
        """Hold the worst case of a call whose charge cannot be read."""
        self.since += Spent(held_tokens=admitted.worst_tokens, held_usd=admitted.worst_usd or 0.0)

    def _release(self, released: HoldReleased) -> None:
        if self.holds.pop(released.charge, None) is None:
            return
        freed = Spent(held_tokens=-released.tokens, held_usd=-released.usd)
        if released.charge < self.message_at:
            self.before += freed
        else:
            self.since += freed

    def _charge(self, charged: Charged) -> None:
        add_charge(self.shares, charged)
        self.since += spent_by(charged)
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


SPENDING_EVENTS = frozenset[type[Event]]((*SPENDS, CallAdmitted, Said, Unknown))
"""The events that change `Spending`; all others are ignored."""
