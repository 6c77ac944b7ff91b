"""After an unfinished end: the command that continues the run, with the limit that was reached raised."""

from __future__ import annotations

import msgspec
import pytest

from rundry.agent.budget.admission import CallRequest, admit
from rundry.agent.budget.count_margin import Margin
from rundry.agent.budget.ledger import Left
from rundry.agent.protocol import Budget, Exhausted, Price, Reason, RunEnded, Spent, Tokens
from rundry.tui.control.resume_command import way_on

NONE = Budget(steps=None, tokens=None, usd=None, seconds=None)


def ended(reason: Reason, detail: str = "why", *, complete: bool = False) -> RunEnded:
    return RunEnded(reason=reason, detail=detail, complete=complete, exit_code=0)


@pytest.mark.parametrize(
    ("budget", "spent", "option"),
    [
        (Budget(steps=40, tokens=None, usd=None, seconds=None), Spent(steps=40), "--steps 60"),
        (Budget(steps=1, tokens=None, usd=None, seconds=None), Spent(steps=1), "--steps 2"),
        (Budget(steps=None, tokens=9_000, usd=None, seconds=None), Spent(tokens=Tokens(9_000)), "--tokens 18000"),
        (Budget(steps=None, tokens=None, usd=0.5, seconds=None), Spent(usd=0.5), "--usd 1"),
        (Budget(steps=None, tokens=None, usd=None, seconds=600.0), Spent(seconds=600.0), "--time 20m"),
        (Budget(steps=None, tokens=None, usd=None, seconds=45.0), Spent(seconds=45.0), "--time 90s"),
        (Budget(steps=None, tokens=None, usd=None, seconds=None, deadline=900.0), Spent(), "--deadline 10m"),
    ],
)
def test_after_a_budget_the_option_that_raises_it_is_named(budget: Budget, spent: Spent, option: str):
    price = Price(input=3e-6, output=15e-6, cached=0.3e-6, worst_input=3e-6, worst_output=15e-6)
    request = CallRequest(prompt_tokens=1_000, margin=Margin(), window=200_000, max_output=None, now=1e3)
    end = admit([Left(budget=budget, spent=spent)], price, request)
    assert isinstance(end, Exhausted)
    old = ended(Reason.BUDGET, end.detail)
    new = msgspec.structs.replace(ended(Reason.BUDGET, "in other words"), limit=end.resource)
    for one in (old, new):
        assert way_on(one, "r1", budget, {}) == f"resume with: rundry resume r1 {option} --headless"


def test_a_limit_that_was_lowered_below_what_was_used_is_raised_above_that():
    budget = Budget(steps=3, tokens=None, usd=None, seconds=None)
    end = msgspec.structs.replace(ended(Reason.BUDGET, "step budget: 20 of 3 steps"), steps=20)
    assert way_on(end, "r1", budget, {}) == "resume with: rundry resume r1 --steps 30 --headless"


def test_the_limit_that_ended_a_child_run_is_read_from_the_detail_of_an_old_journal():
    budget = Budget(steps=None, tokens=9_000, usd=None, seconds=None)
    end = ended(Reason.BUDGET, "search 2: token budget: 9,000 of 9,000 tokens")
    assert way_on(end, "r1", budget, {}) == "resume with: rundry resume r1 --tokens 18000 --headless"
    assert (
        way_on(ended(Reason.USER, "token budget: full"), "r1", budget, {}) == "resume with: rundry resume r1 --headless"
    )


def test_each_unfinished_end_has_a_way_on_and_no_other():
    assert way_on(ended(Reason.USER), "r1", NONE, {}) == "resume with: rundry resume r1 --headless"
    assert way_on(ended(Reason.ERROR), "r1", NONE, {}) == "resume with: rundry resume r1 --headless"
    assert way_on(ended(Reason.HANDOFF), "r1", NONE, {}) == 'resume with: rundry resume r1 --hint "..."'
    elsewhere = way_on(ended(Reason.STAGNATION), "r1", NONE, {"runs_dir": "my runs"})
    assert elsewhere == "resume with: rundry resume r1 --runs-dir 'my runs' --hint \"...\""
    assert way_on(ended(Reason.DONE, complete=True), "r1", NONE, {}) is None
    assert way_on(ended(Reason.REFUSED), "r1", NONE, {}) is None
