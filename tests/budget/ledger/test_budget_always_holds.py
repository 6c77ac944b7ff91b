"""Properties of every budget: it is never passed, and a run with room is never refused."""

from budget.ledger.asked import ask, limits
from hypothesis import given, settings, strategies as st
from sampling import examples

from rundry.agent.budget.admission import Grant, admit
from rundry.agent.budget.count_margin import Margin
from rundry.agent.budget.reserve import Reserve, reserve_for
from rundry.agent.protocol import FREE, Budget, Exhausted, Price, Spent, Tokens

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


class HonestRun:
    def __init__(self, budget: Budget, price: Price | None, window: int, max_output: int | None) -> None:
        self.budget, self.price, self.window, self.max_output = budget, price, window, max_output
        self.reserve = reserve_for(budget, price, window)
        self.spent = Spent()
        self.billed_tokens, self.billed_usd = 0, 0.0
        self.pairs: list[tuple[int, int]] = []

    def ask(self, counted: int, **kind) -> Grant | Exhausted:
        return admit(
            self.budget,
            self.spent,
            counted,
            price=self.price,
            margin=Margin(self.pairs),
            reserve=self.reserve,
            window=self.window,
            max_output=self.max_output,
            now=0.0,
            **kind,
        )

    def make(self, counted: int, grant: Grant, dear: float, long: float, how: str) -> None:
        tokens_in = int(counted + (Margin(self.pairs).bound(counted) - counted) * dear)
        tokens_out = int(grant.max_tokens * long)
        usd = 0.0
        if self.price is not None:
            rate = self.price.worst_input if dear > 0.5 else self.price.input
            usd = tokens_in * rate + tokens_out * (self.price.worst_output if dear > 0.5 else self.price.output)
        self.billed_tokens += tokens_in + tokens_out
        self.billed_usd += usd
        if how == "whole":
            self.pairs.append((counted, tokens_in))
            self.spent += Spent(tokens=Tokens(tokens_in, tokens_out), usd=usd)
        else:  # the bill is not known: an estimate from what arrived, the rest up to the worst case held
            guess = Tokens(counted, tokens_out // 2 if how == "cut" else 0)
            guess_usd = 0.0 if self.price is None else guess.in_ * self.price.input + guess.out * self.price.output
            self.spent += Spent(
                tokens=guess,
                usd=guess_usd,
                held_tokens=max(0, grant.worst_tokens - guess.total),
                held_usd=max(0.0, (grant.worst_usd or 0.0) - guess_usd),
            )

    def assert_kept(self) -> None:
        if self.budget.tokens is not None:
            assert self.billed_tokens <= self.budget.tokens
            assert self.spent.counted_tokens <= self.budget.tokens
        if self.budget.usd is not None:
            assert self.billed_usd <= self.budget.usd
            assert self.spent.counted_usd <= self.budget.usd

    def assert_nothing_useful_fits(self, counted: int, end: Exhausted) -> None:
        needed = Margin(self.pairs).bound(counted) + min(64, self.max_output or 64)
        if end.resource == "tokens":
            assert self.spent.counted_tokens + needed > self.budget.tokens - self.reserve.tokens
        else:
            assert end.resource == "usd"
            worst = Margin(self.pairs).bound(counted) * self.price.worst_input
            worst += min(64, self.max_output or 64) * self.price.worst_output
            assert self.spent.counted_usd + worst > (self.budget.usd - self.reserve.usd) * (1 - 1e-6)


@given(budgets, prices, calls, st.integers(2_000, 1_000_000), st.one_of(st.none(), st.integers(1, 100_000)))
@settings(max_examples=examples(600), deadline=None)
def test_tokens_and_money_are_never_passed_and_a_run_with_room_is_never_refused(
    budget, price, calls, window, max_output
):
    run = HonestRun(budget, price, window, max_output)
    for counted, dear, long, how in calls:
        answer = run.ask(counted)
        if isinstance(answer, Exhausted):
            run.assert_nothing_useful_fits(counted, answer)
            continue
        assert answer.max_tokens >= 1
        run.make(counted, answer, dear, long, how)
        run.assert_kept()
    for counted, dear, long, how in calls[:1]:
        last = run.ask(min(counted, 1_000), wrap_up=True)
        if isinstance(last, Grant):
            run.make(min(counted, 1_000), last, dear, long, how)
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
        answer = admit(
            Budget(seconds=0.0),
            Spent(),
            100,
            price=None,
            margin=Margin(),
            reserve=Reserve(),
            window=8_000,
            max_output=None,
            wrap_up=wrap_up,
            now=0.0,
        )
        assert isinstance(answer, Exhausted)
        assert answer.resource == "seconds"
