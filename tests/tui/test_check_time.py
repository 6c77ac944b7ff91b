"""The time of checks, apart from the rest: from the events to the words at the end."""

from __future__ import annotations

import msgspec

from rundry.agent.budget.ledger import LEDGER_EVENTS, Ledger
from rundry.agent.protocol import CheckFinished, Outcome, Reason, Stamped
from rundry.tui.control.end_words import cost_words

ENDED = Outcome(reason=Reason.DONE, detail="", complete=True, exit_code=0, steps=3, seconds=72.0)


def check(seconds: float) -> CheckFinished:
    return CheckFinished(
        command="pytest", passed=True, exit_code=0, timed_out=False, failing=None, output="", seconds=seconds
    )


def test_the_ledger_adds_what_checks_took_and_counts_it_only_once():
    ledger = Ledger()
    for seq, seconds in enumerate((1.5, 2.0), 1):
        ledger.apply(Stamped(seq, 0.0, None, None, check(seconds)))
    assert CheckFinished in LEDGER_EVENTS
    assert ledger.check_seconds == 3.5
    assert ledger.spent.seconds == 0.0, "the step that runs a check counts its time"


def test_the_end_names_the_time_of_checks_if_it_matters_and_there_is_room():
    long, short = (msgspec.structs.replace(ENDED, check_seconds=seconds) for seconds in (40.0, 2.0))
    assert cost_words(long)[-1] == "1:12 (checks 0:40)"
    assert cost_words(short)[-1] == cost_words(long, has_checks=False)[-1] == "1:12"
