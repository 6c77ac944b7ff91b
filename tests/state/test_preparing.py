"""What runs before the first call, because the judge needs it, is shown while it runs, and so is how it ended."""

from __future__ import annotations

import pytest
from fakes.played_events import Script, started

from rundry.agent import Interrupted, ViewState, reduce_all, waiting_for
from rundry.agent.protocol import HoldoutPrepared, JudgePreparing, PlantPrepared, SetupPrepared

PLANT = JudgePreparing(what="plant", command="pytest -q")
SETUP = JudgePreparing(what="setup", command="npm ci")
HOLDOUT = JudgePreparing(what="holdout", command="sh hidden.sh")


def after(*events: object) -> ViewState:
    state = ViewState()
    reduce_all(state, Script(at=1_000.0).stamp(started(), *events))  # type: ignore[arg-type]
    return state


@pytest.mark.parametrize(
    ("begun", "title"),
    [(PLANT, "planted tests: pytest -q"), (SETUP, "setup: npm ci"), (HOLDOUT, "second check: sh hidden.sh")],
)
def test_it_is_shown_while_it_runs(begun, title):
    state = after(begun)
    assert (state.blocks[-1].title, state.blocks[-1].status, state.phase) == (title, "running", "running")
    waits = waiting_for(state)
    assert waits is not None
    assert title in waits.words(1_020.0, 80)


@pytest.mark.parametrize(
    ("begun", "ended", "status", "right"),
    [
        (PLANT, PlantPrepared(command="pytest -q", plan="p", seconds=1.0), "passed", "they fail, as they must"),
        (PLANT, PlantPrepared(command="pytest -q", first_seconds=1.0), "ok", "no failing test can be planted"),
        (SETUP, SetupPrepared(command="npm ci", seconds=1.0), "passed", "passed"),
        (SETUP, SetupPrepared(command="npm ci", problem="exit code 1: no", seconds=1.0), "failed", "failed"),
        (HOLDOUT, HoldoutPrepared(seconds=1.0), "ok", ""),
        (HOLDOUT, HoldoutPrepared(problem="not found", seconds=1.0), "failed", ""),
    ],
)
def test_its_line_says_how_it_ended(begun, ended, status, right):
    state = after(begun, ended)
    block = next(one for one in state.blocks if one.kind == "check")
    assert (block.status, block.right, block.seconds, state.activity) == (status, right, 1.0, "")
    assert waiting_for(state) is None


def test_an_interrupt_ends_the_preparation():
    state = after(PLANT, Interrupted(what="check", detail="steer"))
    assert (state.blocks[-2].status, state.activity) == ("cut", "")
    assert waiting_for(state) is None


def test_what_did_not_run_is_not_shown():
    """A check in which nothing can be planted is not run, and older journals do not say that it began."""
    assert len(after(PlantPrepared(command="make")).blocks) == len(after().blocks)
