"""A paced run with a check is judged like a goal run."""

import pytest
from fakes.clock import ManualClock
from fakes.in_process.simulated_hours import through_hours
from fakes.turns import call

from rundry.agent.protocol import Budget, LoopKind

from .reading import asked, is_done, is_handed_over, judged

FIX = "echo 'echo 4' > calc.sh"
GUT = "echo true > suite/a.sh"
PROJECT = {"calc.sh": "echo 5\n", "suite__a.sh": "sh calc.sh | grep -q 4\n"}
WAIT = call("wake_after", seconds=3600, reason="CI takes a while")


@pytest.fixture
def paced(project, driven):
    """A paced run with a check that is red at first."""

    def make(*turns, until=("sh suite/a.sh",), **files):
        project(**PROJECT, **files)
        return driven(*turns, loop=LoopKind.PACED, until=until, budget=Budget(steps=8))

    return make


async def test_honest_work_is_done_after_a_sleep(paced):
    run = paced(WAIT, FIX)
    outcome = await through_hours(run, ManualClock(), within=90.0)
    assert is_done(run, outcome) and len(run.of("sleeping")) == 1 and not asked(run)


async def test_a_result_that_rests_on_a_changed_test_is_a_hand_off(paced):
    run = paced(GUT)
    outcome = await through_hours(run, ManualClock(), within=90.0)
    assert is_handed_over(run, outcome, "suite/a.sh")


async def test_a_red_judge_is_reported_and_the_model_can_wait_before_it_judges_again(paced):
    check = "test -e target/made || sh suite/a.sh"
    ignored = {"_dot_gitignore": "target\n", "Cargo.toml": "[package]\n", "target__old": "x"}
    run = paced("touch target/made", WAIT, until=[check], **ignored)
    outcome = await through_hours(run, ManualClock(), within=90.0)
    kinds = [e["type"] for e in run.events if e["type"] in ("judged", "sleeping", "run_ended")]
    assert kinds == ["judged", "sleeping", "judged", "run_ended"], run.story()
    assert outcome.reason == "handoff" and judged(run)["why"] == "conditions"
    assert "but not in a fresh place" in run.heard(1), run.heard(1)
