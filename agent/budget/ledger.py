"""Usage of a run's budget, derived from events: charged, held, and admitted but not yet charged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..protocol import (
    CallAdmitted,
    Charged,
    ChildSpent,
    Event,
    Fault,
    HoldReleased,
    LoopKind,
    ModelShare,
    ModelSwitched,
    RunEnded,
    RunResumed,
    RunStarted,
    Said,
    Spent,
    Stamped,
    StepFinished,
    StepStarted,
    Tokens,
    Unknown,
)
from ..protocol.budget import Used

_REMEMBERED = 50
"""Number of prompts from which the margin is learned."""

USAGE_EVENTS = (Charged, ChildSpent, Fault, HoldReleased, RunEnded, RunResumed, StepFinished, StepStarted)
"""Events that change the usage of a limit."""


@dataclass(slots=True)
class ModelUsage:
    """What one model used in a run."""

    calls: int = 0
    spent: Spent = field(default_factory=Spent)

    @property
    def usd(self) -> float | None:
        """Cost in USD. None means that at least one call had no known price."""
        return None if self.spent.unpriced else self.spent.usd

    def add(self, calls: int, spent: Spent) -> None:
        """Add calls and what they cost."""
        self.calls += calls
        self.spent += spent


@dataclass(slots=True)
class Spending:
    """Usage of a run, derived from events only. All sums of dollars are sums of `Spent`."""

    spent: Spent = field(default_factory=Spent)
    """Usage of the whole run."""
    since: Spent = field(default_factory=Spent)
    """Usage since the person's newest message: in a chat, each message has its own budget."""
    by_model: dict[str, ModelUsage] = field(default_factory=dict[str, ModelUsage])
    """Usage by model, in the order of their first calls."""
    admitted: dict[str | None, CallAdmitted] = field(default_factory=dict[str | None, CallAdmitted])
    """Admitted calls that were neither charged nor abandoned yet, by work."""
    holds: dict[int, Charged] = field(default_factory=dict[int, Charged])
    """Charges for which the provider may still bill more, by their position in the journal."""
    of_children: dict[str, Spent] = field(default_factory=dict[str, Spent])
    """Part of `spent` that each child run used, by its id."""
    has_message_budgets: bool = False
    """The limits are those of one message, not of the whole run: the run is a chat."""
    message_at: int = 0
    """Position of that message in the journal, or 0 if there was none."""
    is_damaged: bool = False
    """An event could not be read and may have been a charge."""
    model: str = ""
    """The model of the run: journals of early versions do not name it with each charge."""
    margins: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """(our count, billed) of prompts whose usage the provider reported."""
    newest_prompts: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """The newest of these pairs of each model."""
    costs: dict[str, list[tuple[float, float]]] = field(default_factory=dict[str, list[tuple[float, float]]])
    """(USD by the price, USD reported) of the newest calls of each model whose provider reports the cost."""

    @property
    def shares(self) -> dict[str, ModelShare]:
        """Usage by model as it is recorded and shown, in the order of their first calls."""
        return {
            model: ModelShare(
                model=model,
                calls=usage.calls,
                tokens_in=usage.spent.tokens.in_,
                tokens_out=usage.spent.tokens.out,
                usd=usage.usd,
            )
            for model, usage in self.by_model.items()
        }

    @property
    def limited(self) -> Spent:
        """Usage that counts against the limits: in a chat since the newest message, else of the whole run."""
        return self.since if self.has_message_budgets else self.spent

    @property
    def limited_with_calls(self) -> Spent:
        """The same with the worst case of the admitted calls, for the admission of the next one."""
        return self.limited + self.in_flight

    @property
    def in_flight(self) -> Spent:
        """The worst case of the admitted calls."""
        return sum_of(worst_case(admitted) for admitted in self.admitted.values())

    @property
    def cut(self) -> Spent:
        """The worst case of the admitted calls, if their runner is gone."""
        return self.in_flight + Spent(cut_calls=len(self.admitted))

    @property
    def used(self) -> Used:
        """What counts against the limits of the run; running calls count with their worst case."""
        return _used(self.spent + self.in_flight)

    @property
    def own_used(self) -> Used:
        """The same without the child runs, which count in the ledgers by themselves."""
        return _used(self.spent + self.in_flight + negative(sum_of(self.of_children.values())))

    def own_used_with(self, admitted: CallAdmitted, work: str | None) -> Used:
        """Return `own_used`, including a call that is about to be admitted."""
        others = (worst_case(call) for place, call in self.admitted.items() if place != work)
        children = negative(sum_of(self.of_children.values()))
        return _used(self.spent + children + sum_of(others) + worst_case(admitted))

    def used_with(self, admitted: CallAdmitted, work: str | None) -> Used:
        """Return the same, including a call that is about to be admitted."""
        others = (worst_case(call) for place, call in self.admitted.items() if place != work)
        return _used(self.spent + sum_of(others) + worst_case(admitted))

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
                    self._add(worst_case(self.admitted[stamped.work]))  # its charge cannot be read
                self.admitted[stamped.work] = admitted
            case StepStarted():
                self._add(Spent(steps=1))
            case StepFinished(seconds=seconds):
                self._add(Spent(seconds=seconds))
            case Said():
                self.since, self.message_at = Spent(), stamped.seq
            case HoldReleased() as released:
                self._release(released)
            case ChildSpent(run_id=run_id, spent=spent):
                self._add(spent + negative(self.of_children.get(run_id, Spent())))
                self.of_children[run_id] = spent
            case Fault():
                self.admitted.pop(stamped.work, None)
            case Unknown(type="damaged"):
                self.is_damaged = True
            case RunStarted(model=model, loop=loop):
                self.model, self.has_message_budgets = model, loop is LoopKind.CHAT
            case ModelSwitched(model=model):
                self.model = model
            case RunResumed(lost_steps=steps, lost_seconds=seconds):
                self._add(Spent(steps=steps, seconds=seconds))
            case RunEnded(seconds=seconds):
                self._add(Spent(seconds=max(0.0, seconds - self.spent.seconds)))
            case _:
                pass

    def _add(self, used: Spent) -> None:
        self.spent += used
        self.since += used

    def _release(self, released: HoldReleased) -> None:
        if self.holds.pop(released.charge, None) is None:
            return
        freed = Spent(held_tokens=-released.tokens, held_usd=-released.usd)  # those events do not say `is_cut`
        self.spent += freed
        if released.charge > self.message_at:
            self.since += freed

    def _charge(self, charged: Charged) -> None:
        spent = spent_by(charged)
        self._add(spent)
        self.by_model.setdefault(charged.model or self.model, ModelUsage()).add(1, spent)
        if charged.prompt_counted:
            self.margins.append((charged.prompt_counted, charged.tokens_in))
            del self.margins[:-_REMEMBERED]
            self.newest_prompts[charged.model or self.model] = self.margins[-1]
        if charged.listed_usd is not None and charged.reported_usd is not None:
            costs = self.costs.setdefault(charged.model or self.model, [])
            costs.append((charged.listed_usd, charged.reported_usd))
            del costs[:-_REMEMBERED]


def sum_of(parts: Iterable[Spent]) -> Spent:
    """Return the sum of several amounts."""
    return sum(parts, start=Spent())


def negative(spent: Spent) -> Spent:
    """Return the amounts to add in order to subtract these. The flags are not inverted."""
    tokens = spent.tokens
    return Spent(
        steps=-spent.steps,
        tokens=Tokens(-tokens.in_, -tokens.out, -tokens.cached, -tokens.reasoning, -tokens.written),
        usd=-spent.usd,
        seconds=-spent.seconds,
        held_tokens=-spent.held_tokens,
        held_usd=-spent.held_usd,
        cut_calls=-spent.cut_calls,
    )


def worst_case(admitted: CallAdmitted) -> Spent:
    """Return what an admitted call may cost; it counts against the limits until the call is charged."""
    return Spent(held_tokens=admitted.worst_tokens, held_usd=admitted.worst_usd or 0.0)


def spent_by(charged: Charged) -> Spent:
    """Return the usage of one call, including what its provider may still bill."""
    return Spent(
        tokens=Tokens(
            charged.tokens_in,
            charged.tokens_out,
            charged.tokens_cached,
            charged.tokens_reasoning,
            charged.tokens_written,
        ),
        usd=charged.usd or 0.0,
        held_tokens=charged.held_tokens,
        held_usd=charged.held_usd,
        cut_calls=int(charged.is_cut and (charged.held_tokens > 0 or charged.held_usd > 0)),
        unpriced=charged.usd is None,
        estimated=charged.estimated,
    )


def _used(spent: Spent) -> Used:
    return Used(spent.steps, spent.counted_tokens, spent.counted_usd, spent.seconds)


SPENDING_EVENTS = frozenset[type[Event]]((*USAGE_EVENTS, CallAdmitted, ModelSwitched, RunStarted, Said, Unknown))
"""The events that change `Spending`; all others are ignored."""
