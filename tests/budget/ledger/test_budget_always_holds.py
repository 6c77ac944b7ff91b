"""Properties of every budget: it is never passed, and a run with room is never refused."""

from budget.ledger.asked import ask, limits
from hypothesis import given, settings, strategies as st
from sampling import examples

from rundry.agent.budget.admission import CallRequest, Grant, admit
from rundry.agent.budget.count_margin import Margin, with_surcharge
from rundry.agent.budget.ledger import Ledger, charged_for
from rundry.agent.budget.reserve import reserve_for
from rundry.agent.protocol import (
    FREE,
    Budget,
    CallAdmitted,
    Event,
    Exhausted,
    Price,
    Spent,
    Stamped,
    Tokens,
    UsagePart,
)

rates = st.floats(0, 1e-4, allow_nan=False)


prices = st.one_of(
    st.none(),
    st.just(FREE),
    st.builds(
        lambda i, o, more: Price(input=i, output=o, cached=i / 10, worst_input=i * more, worst_output=o * more),
        rates,
        rates,
        st.floats(1, 3),
    ),
)


budgets = st.builds(
    lambda tokens, usd: limits(tokens=tokens, usd=usd),
    st.one_of(st.none(), st.integers(0, 3_000), st.integers(0, 300_000)),
    st.one_of(st.none(), st.floats(0, 0.01), st.floats(0, 5)),
)


calls = st.lists(
    st.tuples(
        st.integers(1, 50_000),  # counted
        st.floats(0, 1),  # share of the margin that the provider uses
        st.floats(0, 1),  # share of max_tokens
        st.sampled_from(["whole", "whole", "cut", "lost"]),
    ),
    max_size=40,
)


class PricedModel:
    """The part of a model from which a charge is computed."""

    name = "small"

    def __init__(self, price: Price | None) -> None:
        self.price = price


class HonestRun:
    """A run that makes the calls that are admitted, at a provider that never bills more than it may."""

    def __init__(self, budget: Budget, price: Price | None, window: int, max_output: int | None) -> None:
        self.budget, self.price, self.window, self.max_output = budget, price, window, max_output
        self.reserve = reserve_for(budget, price, window)
        self.ledger = Ledger()
        self.billed_tokens, self.billed_usd = 0, 0.0
        self._seq = 0

    @property
    def spent(self) -> Spent:
        return self.ledger.spent

    @property
    def worst_price(self) -> Price | None:
        return with_surcharge(self.price, self.ledger.costs.get("small", []))

    def ask(self, counted: int, **kind) -> Grant | Exhausted:
        request = CallRequest(
            prompt_tokens=counted,
            margin=Margin(self.ledger.margins),
            window=self.window,
            max_output=self.max_output,
            now=0.0,
            **kind,
        )
        return admit([self.ledger.left(self.budget, self.reserve)], self.worst_price, request)

    def make(self, counted: int, grant: Grant, price_share: float, long: float, how: str) -> None:
        admitted = CallAdmitted(
            prompt_tokens=counted,
            max_tokens=grant.max_tokens,
            worst_usd=grant.worst_usd,
            worst_tokens=grant.worst_tokens,
            model="small",
        )
        self._apply(admitted)
        self.assert_kept_while_it_runs()
        bound = Margin(self.ledger.margins).bound(counted)
        tokens = Tokens(int(counted + (bound - counted) * price_share), int(grant.max_tokens * long))
        usd = None
        if self.price is not None:
            rates = (
                (self.price.worst_input, self.price.worst_output)
                if price_share > 0.5
                else (self.price.input, self.price.output)
            )
            usd = tokens.in_ * rates[0] + tokens.out * rates[1]
        self.billed_tokens += tokens.total
        self.billed_usd += usd or 0.0
        arrived = tokens.out // 2 if how == "cut" else 0 if how == "lost" else tokens.out
        report = UsagePart(tokens, usd=usd) if how == "whole" else None
        own = Tokens(counted, arrived)
        self._apply(charged_for(own, report, admitted, PricedModel(self.price), is_cut=report is None))

    def _apply(self, event: Event) -> None:
        self._seq += 1
        self.ledger.apply(Stamped(self._seq, 0.0, None, None, event))

    def assert_kept_while_it_runs(self) -> None:
        counted = self.ledger.counted()
        if self.budget.tokens is not None:
            assert counted.counted_tokens <= self.budget.tokens
        if self.budget.usd is not None:
            assert counted.counted_usd <= self.budget.usd

    def assert_kept(self) -> None:
        if self.budget.tokens is not None:
            assert self.billed_tokens <= self.budget.tokens
            assert self.spent.counted_tokens <= self.budget.tokens
        if self.budget.usd is not None:
            assert self.billed_usd <= self.budget.usd
            assert self.spent.counted_usd <= self.budget.usd

    def assert_nothing_useful_fits(self, counted: int, end: Exhausted) -> None:
        bound = Margin(self.ledger.margins).bound(counted)
        needed = bound + min(64, self.max_output or 64)
        if end.resource == "tokens":
            assert self.spent.counted_tokens + needed > self.budget.tokens - self.reserve.tokens
        else:
            assert end.resource == "usd"
            price = self.worst_price
            worst = price.worst_call + bound * price.worst_input
            worst += min(64, self.max_output or 64) * price.worst_output
            assert self.spent.counted_usd + worst > (self.budget.usd - self.reserve.usd) * (1 - 1e-6)


@given(budgets, prices, calls, st.integers(2_000, 1_000_000), st.one_of(st.none(), st.integers(1, 100_000)))
@settings(max_examples=examples(600), deadline=None)
def test_tokens_and_money_are_never_passed_and_a_run_with_room_is_never_refused(
    budget, price, calls, window, max_output
):
    run = HonestRun(budget, price, window, max_output)
    for counted, price_share, long, how in calls:
        answer = run.ask(counted)
        if isinstance(answer, Exhausted):
            run.assert_nothing_useful_fits(counted, answer)
            continue
        assert answer.max_tokens >= 1
        run.make(counted, answer, price_share, long, how)
        run.assert_kept()
    for counted, price_share, long, how in calls[:1]:
        last = run.ask(min(counted, 1_000), wrap_up=True)
        if isinstance(last, Grant):
            run.make(min(counted, 1_000), last, price_share, long, how)
            run.assert_kept()


@given(
    st.builds(
        Budget, tokens=st.integers(-5, 10), usd=st.floats(-1, 1), steps=st.integers(-1, 3), seconds=st.floats(-1, 5)
    ),
    st.builds(Spent, steps=st.integers(0, 5), usd=st.floats(0, 10), seconds=st.floats(0, 10)),
    prices,
    st.integers(0, 100),
)
def test_a_question_to_a_budget_never_raises(budget, spent, price, prompt):
    reserve = reserve_for(budget, price, 4_096)
    answer = ask(budget, spent, prompt, price=price, reserve=reserve, window=1)
    assert isinstance(answer, Grant | Exhausted)


def test_without_time_no_call_and_no_wrap_up_is_admitted():
    for wrap_up in (False, True):
        answer = ask(Budget(seconds=0.0), prompt=100, price=None, window=8_000, wrap_up=wrap_up, now=0.0)
        assert isinstance(answer, Exhausted)
        assert answer.resource == "seconds"
