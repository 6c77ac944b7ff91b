"""The ledger of a run: what its calls are charged, what is held for them, and what its limits leave.

It is a fold of events. What a call is charged is computed here as well: what its provider reported, else an estimate,
and what may be billed in addition.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil, inf
from typing import TYPE_CHECKING

import msgspec

from ..protocol import (
    Budget,
    CallAdmitted,
    Charged,
    CheckFinished,
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
    UsagePart,
    bill,
)
from .reserve import Reserve

if TYPE_CHECKING:
    from ..protocol import Model, Price

_REMEMBERED = 50
"""Number of prompts from which the margin is learned."""

_ROUNDING = 1e-9
"""Share of a limit that absorbs rounding errors."""
_MARGIN_OUT, _MARGIN_OUT_TOKENS = 0.25, 16
"""Share and number of tokens by which a complete answer can exceed our count of its text."""
_LEAST_SHARE = 0.25
"""Share of the cost by the price below which a reported cost is not the bill. Recorded bills are above 0.38 of it."""

USAGE_EVENTS = frozenset[type[Event]](
    (Charged, ChildSpent, Fault, HoldReleased, RunEnded, RunResumed, StepFinished, StepStarted)
)
"""Events that change the usage of a limit."""


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """What the limits of a run leave for its next call."""

    budget: Budget
    spent: Spent
    """Usage that counts against these limits now; running calls count with their worst case."""
    reserve: Reserve = Reserve()
    """What is kept for the wrap-up."""
    run_id: str = ""
    """The run above whose limits these are, or an empty text for those of the run that makes the call."""

    @property
    def tokens(self) -> float:
        """The tokens that a call may use."""
        limit = self.budget.tokens
        return inf if limit is None else limit - self.reserve.tokens - self.spent.counted_tokens

    @property
    def usd(self) -> float:
        """The USD that a call may cost."""
        limit = self.budget.usd
        return inf if limit is None else limit * (1 - _ROUNDING) - self.reserve.usd - self.spent.counted_usd

    def seconds(self, now: float) -> float | None:
        """Return the seconds that a call may take, or None if there is no limit. `now`: Unix time."""
        left: list[float] = []
        if self.budget.seconds is not None:
            left.append(self.budget.seconds - self.reserve.seconds - self.spent.seconds)
        if self.budget.deadline is not None:
            left.append(self.budget.deadline - now - self.reserved_until(self.budget.deadline, now))
        return min(left, default=None)

    def reserved_until(self, deadline: float, now: float) -> float:
        """Return the seconds to keep before a deadline: of a short one a tenth.

        Its start is unknown; only the time used and the time left are known.
        """
        return min(self.reserve.seconds, max(0.0, self.spent.seconds + deadline - now) / 10)


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
class Ledger:
    """What a run has used, derived from events only. All sums of dollars are sums of `Spent`."""

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
    check_seconds: float = 0.0
    """Seconds that checks took. They count as busy time, too."""
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
    def in_flight(self) -> Spent:
        """The worst case of the admitted calls."""
        return sum_of(worst_case(admitted) for admitted in self.admitted.values())

    @property
    def cut(self) -> Spent:
        """The worst case of the admitted calls, if their runner is gone."""
        return self.in_flight + Spent(cut_calls=len(self.admitted))

    def counted(self, next_call: CallAdmitted | None = None, work: str | None = None) -> Spent:
        """Return what the whole run uses; calls that are not charged yet count with their worst case.

        `next_call`: a call of this work that is about to be made.
        """
        calls = self.admitted if next_call is None else {**self.admitted, work: next_call}
        return self.spent + sum_of(map(worst_case, calls.values()))

    def counted_alone(self, next_call: CallAdmitted | None = None, work: str | None = None) -> Spent:
        """Return the same without the child runs, which have rows of their own in a shared ledger."""
        return self.counted(next_call, work) + negative(sum_of(self.of_children.values()))

    def left(self, budget: Budget, reserve: Reserve, uncounted: float = 0.0) -> Left:
        """Return what these limits of the run leave now. `uncounted`: busy seconds that no event has recorded yet."""
        return Left(budget=budget, spent=self.limited + self.in_flight + Spent(seconds=uncounted), reserve=reserve)

    def apply(self, stamped: Stamped) -> None:
        """Fold the next event of the types in `LEDGER_EVENTS`."""
        match stamped.event:
            case CallAdmitted() as admitted:
                self.hold(admitted, stamped.work)
            case Charged() as charged:
                self.charge(charged, stamped.work, stamped.seq)
            case StepStarted():
                self._add(Spent(steps=1))
            case CheckFinished(seconds=seconds):
                self.check_seconds += seconds
            case StepFinished(seconds=seconds):
                self._add(Spent(seconds=seconds))
            case Said():
                self.since, self.message_at = Spent(), stamped.seq
            case HoldReleased() as released:
                self.release(released)
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

    def hold(self, admitted: CallAdmitted, work: str | None) -> None:
        """Count a call of this work with its worst case until it is charged or fails."""
        if self.is_damaged and work in self.admitted:
            self._add(worst_case(self.admitted[work]))  # its charge cannot be read
        self.admitted[work] = admitted

    def charge(self, charged: Charged, work: str | None, seq: int) -> None:
        """Count what a call of this work cost. `seq`: the position of the charge in the journal."""
        self.admitted.pop(work, None)
        spent = spent_by(charged)
        self._add(spent)
        self.by_model.setdefault(charged.model or self.model, ModelUsage()).add(1, spent)
        if charged.held_until is not None and (charged.held_tokens or charged.held_usd):
            self.holds[seq] = charged
        self._learn(charged)

    def release(self, released: HoldReleased) -> None:
        """Stop counting what was held in addition to a charge. Such events are only in old journals."""
        if self.holds.pop(released.charge, None) is None:
            return
        freed = Spent(held_tokens=-released.tokens, held_usd=-released.usd)  # those events do not say `is_cut`
        self.spent += freed
        if released.charge > self.message_at:
            self.since += freed

    def _add(self, used: Spent) -> None:
        self.spent += used
        self.since += used

    def _learn(self, charged: Charged) -> None:
        """Remember how the provider's figures differ from ours."""
        model = charged.model or self.model
        if charged.prompt_counted:
            self.margins.append((charged.prompt_counted, charged.tokens_in))
            del self.margins[:-_REMEMBERED]
            self.newest_prompts[model] = self.margins[-1]
        if charged.listed_usd is not None and charged.reported_usd is not None:
            costs = self.costs.setdefault(model, [])
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


def charged_for(
    own: Tokens, reported: UsagePart | None, admitted: CallAdmitted, model: Model, *, is_cut: bool
) -> Charged:
    """Return the charge of a call. Figures that the provider did not report are replaced by our own.

    `own`: our counts of the prompt and of what arrived. `is_cut`: the answer was not complete; then everything up to
    the admitted worst case is held, because no provider reports later what it billed for such a call.
    """
    report = reported or UsagePart(Tokens())
    tokens = _tokens(own, report, is_cut=is_cut)
    knows_sum = report.total > 0
    knows_in, knows_out = report.tokens.in_ > 0, report.tokens.out > 0 or own.out == 0
    listed = bill(model.price, tokens)
    if knows_sum:
        listed = bill(model.price, _mostly_output(tokens, admitted.max_tokens))
    usd = _cost(listed, report.usd)
    if is_cut:
        held_tokens = max(0, admitted.worst_tokens - tokens.total)
        held_usd = max(0.0, (admitted.worst_usd or 0.0) - (usd or 0.0))
    else:
        more_in = 0 if knows_in or knows_sum else max(0, admitted.worst_tokens - admitted.max_tokens - tokens.in_)
        more_out = 0 if knows_out or knows_sum else _more_output(tokens.out, admitted)
        held_tokens, held_usd = more_in + more_out, _worst(model.price, more_in, more_out)
    return Charged(
        tokens_in=tokens.in_,
        tokens_out=tokens.out,
        tokens_cached=tokens.cached,
        tokens_reasoning=tokens.reasoning,
        tokens_written=tokens.written,
        usd=usd,
        reported_usd=report.usd,
        listed_usd=None if report.usd is None else listed,
        estimated=is_cut or not (knows_in and knows_out),
        is_cut=is_cut,
        held_tokens=held_tokens,
        held_usd=held_usd,
        model=model.name,
        prompt_counted=own.in_ if (knows_in or knows_sum) and not is_cut else 0,
    )


def _tokens(own: Tokens, report: UsagePart, *, is_cut: bool) -> Tokens:
    given = report.tokens
    counted_in, counted_out = given.in_ or own.in_, given.out or own.out
    if is_cut:  # the report can be one of the beginning
        counted_in, counted_out = max(counted_in, own.in_), max(counted_out, own.out)
    rest = max(0, report.total - counted_in - counted_out)  # our count of the prompt is the less certain one
    return Tokens(counted_in + rest, counted_out, given.cached, given.reasoning, given.written)


def _mostly_output(tokens: Tokens, max_tokens: int) -> Tokens:
    """Return the most expensive way to divide a sum: as much output as the call was allowed."""
    output = max(tokens.out, min(tokens.total, max_tokens))
    return Tokens(tokens.total - output, output)


def _more_output(counted: int, admitted: CallAdmitted) -> int:
    return max(0, min(admitted.max_tokens - counted, ceil(counted * _MARGIN_OUT) + _MARGIN_OUT_TOKENS))


def _worst(price: Price | None, tokens_in: int, tokens_out: int) -> float:
    return 0.0 if price is None else tokens_in * price.worst_input + tokens_out * price.worst_output


def _cost(listed: float | None, reported: float | None) -> float | None:
    """Return the cost to book: what the provider reports, else the cost by the price.

    The reported cost is the bill: it includes fees and discounts that a price per token does not know, and a table of
    prices ages. But a gateway that uses the user's own key reports its fee, or 0; a small part of the cost by the price
    is therefore not the bill.
    """
    if reported is None or (listed is not None and reported < _LEAST_SHARE * listed):
        return listed
    return reported


LEDGER_EVENTS = frozenset[type[Event]](
    (*USAGE_EVENTS, CallAdmitted, CheckFinished, ModelSwitched, RunStarted, Said, Unknown)
)
"""The events that change `Ledger`; all others are ignored."""
