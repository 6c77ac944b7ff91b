import itertools

import pytest

from rundry.agent.budget.quota import Quotas
from rundry.agent.protocol import UserError

step = itertools.count()
"""Each call is one of a later step."""


def test_a_tool_without_a_quota_is_free():
    assert [Quotas().admit("read_file", 0.0, next(step), {}) for _ in range(100)] == [None] * 100


def test_a_call_over_the_rate_is_refused_with_the_reason_until_there_is_room():
    quotas, rates = Quotas(), {"run_command": "2/min"}
    assert quotas.admit("run_command", 0.0, next(step), rates) is None
    assert quotas.admit("run_command", 30.0, next(step), rates) is None
    assert "quota of run_command is 2/min; the next call is possible in 15 s" in quotas.admit(
        "run_command", 45.0, next(step), rates
    )
    assert quotas.admit("run_command", 60.0, next(step), rates) is None
    assert quotas.admit("run_command", 61.0, next(step), rates) is not None


def test_a_refused_call_does_not_count():
    quotas, rates = Quotas(), {"t": "1/min"}
    quotas.admit("t", 0.0, next(step), rates)
    for at in range(1, 60):
        assert quotas.admit("t", at, next(step), rates) is not None
    assert quotas.admit("t", 60.0, next(step), rates) is None


def test_a_rate_of_the_run_never_comes_back():
    quotas, rates = Quotas(), {"write_file": "2/run"}
    assert [quotas.admit("write_file", at, next(step), rates) is None for at in (0.0, 1e6, 2e6)] == [True, True, False]


def test_calls_before_a_resume_count_for_the_run():
    rates = {"write_file": "3/run", "run_command": "1/min"}
    quotas = Quotas({"write_file": 2, "run_command": 9, "read_file": 4})
    assert quotas.admit("write_file", 0.0, next(step), rates) is None
    assert quotas.admit("write_file", 1.0, next(step), rates) is not None
    assert quotas.admit("run_command", 0.0, next(step), rates) is None


def test_calls_of_days_ago_count_for_the_run_and_for_no_shorter_rate():
    rates = {"a": "100/run", "b": "2/day"}
    quotas = Quotas()
    day = 86_400.0
    for at in range(100):
        assert quotas.admit("a", at * day / 10, next(step), rates) is None
    assert quotas.admit("a", 11 * day, next(step), rates) is not None
    assert [quotas.admit("b", at, next(step), rates) is None for at in (0, 1, 2, day, day + 0.5)] == [
        True,
        True,
        False,
        True,
        False,
    ]


def test_continuing_over_quota_is_a_stop():
    quotas, rates = Quotas(), {"t": "1/run"}
    quotas.admit("t", 0.0, next(step), rates)
    for at in range(4):
        quotas.admit("t", at, next(step), rates)
    assert quotas.stop(rates) is None
    quotas.admit("t", 5.0, next(step), rates)
    assert quotas.stop(rates) == "quota: t 1/run, refused in 5 steps in a row"


def test_many_refusals_in_one_step_count_as_one_because_the_model_has_seen_none_yet():
    quotas, rates = Quotas(), {"t": "1/run"}
    for _ in range(20):
        quotas.admit("t", 0.0, 1, rates)
    assert quotas.stop(rates) is None
    for number in range(2, 5):
        quotas.admit("t", 0.0, number, rates)
    assert quotas.stop(rates) is None
    quotas.admit("t", 0.0, 5, rates)
    assert quotas.stop(rates) is not None


def test_who_continues_after_the_end_begins_a_new_row():
    quotas, rates = Quotas(), {"t": "0/min"}
    for _ in range(5):
        quotas.admit("t", 0.0, next(step), rates)
    assert quotas.end(rates) == "quota: t 0/min, refused in 5 steps in a row"
    assert quotas.end(rates) is None
    assert quotas.admit("t", 1.0, next(step), rates) is not None
    assert quotas.end(rates) is None


def test_a_call_that_gets_through_ends_the_row():
    quotas, rates = Quotas(), {"t": "1/min"}
    quotas.admit("t", 0.0, next(step), rates)
    for at in range(1, 5):
        quotas.admit("t", at, next(step), rates)
    assert quotas.admit("t", 60.0, next(step), rates) is None
    quotas.admit("t", 61.0, next(step), rates)
    assert quotas.stop(rates) is None


@pytest.mark.parametrize("text", ["", "30", "30/", "30/fortnight", "-1/min", "1.5/min", "many/run"])
def test_a_rate_that_cannot_be_read_says_how_to_write_one(text):
    with pytest.raises(UserError, match="30/min"):
        Quotas().admit("t", 0.0, next(step), {"t": text})


def test_none_at_all_means_none():
    assert "quota of t is 0/min" in Quotas().admit("t", 0.0, next(step), {"t": "0/min"})


def test_a_rate_that_changes_counts_the_calls_that_were_made_before():
    rates: dict[str, str] = {}
    quotas = Quotas()
    for at in (0.0, 1.0, 2.0):
        assert quotas.admit("t", at, next(step), rates) is None
    rates["t"] = "4/min"
    assert [quotas.admit("t", at, next(step), rates) is None for at in (3.0, 4.0)] == [True, False]
    rates["t"] = "9/min"
    assert quotas.admit("t", 5.0, next(step), rates) is None
    rates["t"] = "5/run"
    assert "no more calls in this run" in (quotas.admit("t", 500.0, next(step), rates) or "")
    del rates["t"]
    assert quotas.admit("t", 501.0, next(step), rates) is None
