"""A tree of runs never passes the limits of the run above, however its runs take turns, fail and are killed."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path

import pytest
from fakes.played_events import spec
from hypothesis import given, settings, strategies as st
from sampling import examples

from rundry.agent.budget.admission import CallRequest, admit
from rundry.agent.budget.count_margin import Margin
from rundry.agent.budget.ledger import Ledger, charged_for
from rundry.agent.budget.reserve import Reserve
from rundry.agent.budget.shared_ledger import SharedLedger
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    Budget,
    CallAdmitted,
    Charged,
    ChildSpent,
    Event,
    Exhausted,
    Fault,
    ParentRef,
    Price,
    RunSpec,
    Spent,
    StepStarted,
    Tokens,
    UsagePart,
)

from .asked import UNLIMITED

PRICE = Price(input=1e-6, output=4e-6, cached=1e-7, worst_input=2e-6, worst_output=4e-6)


class PricedModel:
    name, price = "small", PRICE


def spec_of(run_id: str, parent: RunSpec | None, folder: Path, budget: Budget) -> RunSpec:
    above = None if parent is None else ParentRef(run_id=parent.run_id, journal=str(folder / parent.run_id), number=1)
    return spec("t", run_id=run_id, budget=budget, parent=above)


class TreeRun:
    """One run of a tree, with a journal of its own and rows in those above."""

    def __init__(self, folder: Path, run_id: str, above: TreeRun | None, budget: Budget) -> None:
        self.budget, self.above = budget, above
        self.spec = spec_of(run_id, None if above is None else above.spec, folder, budget)
        self.journal = Journal.create(folder / run_id, self.spec)
        self.billed = Spent()
        self.running: CallAdmitted | None = None
        self.begin()

    def begin(self) -> None:
        """Start the runner, again after a kill: what it knows is what the journals say."""
        self.ledger = Ledger()
        for stamped in self.journal.read():
            self.ledger.apply(stamped)
        self.shared = SharedLedger.of_runs_above(self.spec, self.ledger)
        self.below = SharedLedger.of_runs_below(self.journal, self.ledger)
        self.below.set_budget(self.budget)
        self.below.note()

    def record(self, event: Event) -> None:
        stamped = self.journal.append(event)
        self.ledger.apply(stamped)
        self.shared.on_event(stamped)
        self.below.note()
        if self.above is not None and not isinstance(event, CallAdmitted):
            self.above.record(ChildSpent(run_id=self.spec.run_id, spent=self.ledger.spent))

    def start(self, chance: random.Random) -> Exhausted | None:
        """Begin a call, if all limits allow it."""
        counted = chance.randrange(1, 3_000)
        request = CallRequest(
            prompt_tokens=counted, margin=Margin(self.ledger.margins), window=20_000, max_output=2_000, now=0.0
        )
        limits = [self.ledger.left(self.budget, Reserve()), *self.shared.left()]
        grant = admit(limits, PRICE, request)
        if isinstance(grant, Exhausted):
            return grant
        admitted = CallAdmitted(
            prompt_tokens=counted,
            max_tokens=grant.max_tokens,
            worst_usd=grant.worst_usd,
            worst_tokens=grant.worst_tokens,
            model="small",
        )
        self.record(StepStarted(number=1))
        if (refused := self.shared.hold(admitted, None)) is not None:
            return refused
        self.record(admitted)
        self.running = admitted
        return None

    def finish(self, chance: random.Random) -> None:
        """End the running call in one of the ways in which calls end. The provider bills at most the worst case."""
        admitted, self.running = self.running, None
        assert admitted is not None
        how = chance.choice(["whole", "whole", "cut", "failed", "killed"])
        counted = admitted.prompt_tokens
        bound = Margin(self.ledger.margins).bound(counted)
        tokens = Tokens(chance.randint(counted, bound), chance.randint(0, admitted.max_tokens))
        if how == "failed":
            self.record(Fault(kind="rate", text="not billed"))
            return
        usd = tokens.in_ * PRICE.worst_input + tokens.out * PRICE.worst_output
        self.billed += Spent(tokens=tokens, usd=usd)
        if how == "killed":
            self.shared.close()
            self.begin()
        report = UsagePart(tokens, usd=usd) if how == "whole" else None
        own = Tokens(counted, tokens.out if report else tokens.out // 2)
        self.record(charged_for(own, report, admitted, PricedModel(), is_cut=report is None))

    def close(self) -> None:
        self.shared.close()
        self.journal.close()


LIMITS = st.builds(
    lambda tokens, usd: Budget(tokens=tokens, usd=usd, steps=None, seconds=None),
    st.none() | st.integers(0, 60_000),
    st.none() | st.floats(0, 0.2),
)


def assert_kept(budget: Budget, runs: list[TreeRun]) -> None:
    """What was billed and what still may be is within the limits of the run at the top, and its table knows of it."""
    top = runs[0]
    billed = sum((run.billed for run in runs), start=Spent())
    running = sum((run.ledger.in_flight for run in runs), start=Spent())
    (left,) = top.below.left()
    if budget.tokens is not None:
        assert billed.tokens.total + running.counted_tokens <= left.spent.counted_tokens <= budget.tokens
    if budget.usd is not None:
        assert billed.usd + running.counted_usd <= left.spent.counted_usd + 1e-9
        assert left.spent.counted_usd <= budget.usd
    known = top.ledger.spent + running
    assert known.counted_tokens == left.spent.counted_tokens
    assert known.counted_usd == pytest.approx(left.spent.counted_usd)
    assert known.steps == left.spent.steps == sum(run.ledger.counted_alone().steps for run in runs)


@given(LIMITS, LIMITS, st.randoms(use_true_random=False))
@settings(max_examples=examples(25), deadline=None)
def test_no_order_of_calls_and_kills_passes_the_limits_of_a_run_above(
    tmp_path_factory: pytest.TempPathFactory, first: Budget, second: Budget, chance: random.Random
):
    folder = tmp_path_factory.mktemp("tree")
    top = TreeRun(folder, "top", None, first)
    middle = TreeRun(folder, "middle", top, second)
    below = [TreeRun(folder, name, middle, UNLIMITED) for name in ("left", "right", "third")]
    runs = [top, middle, *below]
    try:
        for _ in range(24):
            quiet = all(run.running is None for run in below)
            run = chance.choice(runs if quiet else below)  # a run makes no call while one of its children does
            if run.running is None:
                run.start(chance)
            if run.running is not None and (run not in below or chance.random() < 0.4):
                run.finish(chance)
            assert_kept(first, runs)
        billed = sum((run.billed for run in runs[1:]), start=Spent())
        assert second.tokens is None or billed.tokens.total <= second.tokens
        assert second.usd is None or billed.usd <= second.usd
    finally:
        for run in runs:
            run.close()


def test_a_call_that_no_longer_fits_when_it_is_made_is_refused(tmp_path: Path):
    top = TreeRun(tmp_path, "top", None, Budget(tokens=10_000, steps=None, usd=None, seconds=None))
    one, other = (TreeRun(tmp_path, name, top, UNLIMITED) for name in ("one", "other"))
    worst = CallAdmitted(prompt_tokens=1, max_tokens=1, worst_tokens=6_000, worst_usd=None)
    try:
        assert one.shared.hold(worst, None) is None
        refused = other.shared.hold(worst, None)
        assert refused is not None and refused.detail.startswith("token budget: 12,000 of 10,000 tokens")
        one.shared.note()
        assert other.shared.hold(worst, None) is None
    finally:
        for run in (top, one, other):
            run.close()


def charged(tokens: int) -> Charged:
    return Charged(tokens_in=tokens, tokens_out=0, model="small")


def test_each_run_counts_once_and_what_was_refused_counts_nowhere(tmp_path: Path):
    with closing(Journal.create(tmp_path / "top", spec_of("top", None, tmp_path, UNLIMITED))) as journal:
        of_top, of_child = Ledger(), Ledger()
        of_top.charge(charged(10), None, 1)
        of_child.charge(charged(20), None, 1)
        top, child = SharedLedger.of_runs_below(journal, of_top), SharedLedger([journal], "child", of_child)
        top.set_budget(Budget(tokens=100, steps=None, usd=None, seconds=None))
        top.note()
        child.note()
        child.note()  # twice changes nothing
        assert [left.spent.counted_tokens for left in top.left() + child.left()] == [30, 30]
        fits, passes = (CallAdmitted(prompt_tokens=1, max_tokens=1, worst_tokens=n, worst_usd=None) for n in (70, 71))
        refused = child.hold(passes, None)
        assert refused is not None and refused.resource == "tokens"
        assert refused.detail == "token budget: 101 of 100 tokens with this call (of the parent run top)"
        assert top.left()[0].spent.counted_tokens == 30
        assert child.hold(fits, None) is None
        assert top.left()[0].spent.counted_tokens == 100
        child.note()  # it failed before it was recorded
        assert top.left()[0].spent.counted_tokens == 30
