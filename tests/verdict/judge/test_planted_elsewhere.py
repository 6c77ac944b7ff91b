"""Failing tests are planted in each kind of run whose check starts a runner of tests; the start says what it costs."""

import pytest
from fakes.clock import ManualClock
from fakes.in_process.simulated_hours import through_hours
from fakes.models.tries import TryingModel
from fakes.turns import call, edit, finish
from search.migrate.fixer import Fixer

from rundry.agent.protocol import (
    Branch,
    Budget,
    FinderSpec,
    GoalTries,
    ImproveSpec,
    IntervalSpec,
    LoopKind,
    Predicates,
    Recipe,
    Stop,
)

from .reading import is_done, judged
from .test_planted_runs import ATTACKS, FIX, PYTEST, TESTS, WRONG

DONE = finish("did it", "calc.py")
BRANCH = Branch(protected=[])
MEAN = "python3 -c 'import calc; print(calc.double(2))'"
IN_PASSES = {
    "interval": {"loop": LoopKind.INTERVAL, "interval": IntervalSpec(every=3600.0, branch=BRANCH)},
    "improve": {"loop": LoopKind.IMPROVE, "improve": ImproveSpec(score=MEAN, bounded=True, patience=1, branch=BRANCH)},
}


def said(run):
    """The line that says what the judge will cost."""
    found = run.of("judge_planned")
    assert len(found) == 1, run.story()
    kinds = [event["type"] for event in run.events]
    first_call = kinds.index("call_admitted") if "call_admitted" in kinds else len(kinds)
    assert kinds.index("judge_planned") < first_call, kinds
    return found[0]["line"]


def is_planted(run, when):
    """Planted tests failed in the judge, and the start said that they would run."""
    assert run.of("plant_prepared")[0]["plan"], run.story()
    assert judged(run)["plant"].endswith("failed as they must"), judged(run)
    kinds = [event["type"] for event in run.events]
    assert run.of("judge_preparing")[0]["what"] == "plant", "nothing says what runs before the first call"
    assert kinds.index("judge_preparing") < kinds.index("plant_prepared")
    line = said(run)
    assert line.startswith(f"Judge: {when} the check runs once more, and once with planted tests"), line
    assert "first run " in line and "with planted tests " in line
    return True


@pytest.fixture
def calc(project):
    return project(**{"calc.py": WRONG, "test_calc.py": TESTS})


@pytest.mark.usefixtures("calc")
@pytest.mark.parametrize("kind", IN_PASSES)
async def test_tests_are_planted_at_the_end_of_each_pass(driven, kind):
    run = driven(FIX, DONE, until=[PYTEST], budget=Budget(steps=2), scope=[], **IN_PASSES[kind])
    await through_hours(run, ManualClock(), within=90.0)
    assert is_planted(run, "at the end of each pass")
    assert run.of("pass_finished")[0]["verdict"] == "kept", run.story()


SCORE = "python3 -m unittest -q && echo 1 || echo 0"
UNITTEST = """import unittest
from calc import double


class TestDouble(unittest.TestCase):
    def test_two(self):
        self.assertEqual(double(2), 4)

    def test_three(self):
        self.assertEqual(double(3), 6)
"""
PATCHES = {
    "the method that calls a test": "unittest.TestCase._callTestMethod = lambda self, method: None",
    "the exit code": "import os, sys\nsys.exit = lambda code=0: os._exit(0)",
}


@pytest.fixture
def scored(project, driven):
    """An improve run whose score is 1 if all tests pass, and else 0."""

    def make(command):
        project(**{"calc.py": WRONG, "test_calc.py": UNITTEST})
        spec = ImproveSpec(score=SCORE, bounded=True, patience=1, branch=BRANCH)
        return driven(command, DONE, loop=LoopKind.IMPROVE, improve=spec, budget=Budget(steps=2), scope=[])

    return make


async def test_in_a_score_that_shows_the_report_of_a_runner(scored):
    run = scored(FIX)
    await run.run(within=90.0)
    assert run.of("plant_prepared")[0]["plan"], run.story()
    assert judged(run)["plant"].endswith("failed as they must"), judged(run)
    assert said(run).startswith("Judge: at the end of each pass the tests of the score run once with planted ones")
    assert run.of("pass_finished")[0]["verdict"] == "kept", run.story()


@pytest.mark.parametrize("patch", PATCHES)
async def test_code_that_makes_its_tests_pass_raises_no_score(scored, patch):
    run = scored(f"printf 'import unittest\n{PATCHES[patch]}\n' | cat - calc.py > new && cat new > calc.py && rm new")
    await run.run(within=90.0)
    assert judged(run)["why"] == "suspect", run.story()
    assert run.of("pass_finished")[0]["verdict"] != "kept", run.story()


@pytest.mark.usefixtures("calc")
async def test_in_tries(driven):
    run = driven(task="Pass 1. Mend it.", until=[PYTEST], tries=GoalTries(tries=2), budget=Budget(steps=8), scope=[])
    run.model = TryingModel({(1, number): [call("run_command", command=FIX), DONE] for number in (1, 2)})
    await run.run(within=90.0)
    assert is_planted(run, "for each green try until one passes, and at the end,")


@pytest.fixture
def chatting(driven):
    """A chat with a check, which is stopped after the first answer."""

    def make(command, until=(PYTEST,)):
        run = driven(command, loop=LoopKind.CHAT, task="Mend it.", until=until, budget=Budget(steps=4))
        return run.on("waiting", Stop())

    return make


@pytest.mark.usefixtures("calc")
async def test_tests_are_planted_in_a_chat_after_each_green_answer(chatting):
    run = chatting(FIX)
    await run.run(within=90.0)
    assert judged(run)["passed"] and is_planted(run, "after each answer with green changes")


@pytest.mark.usefixtures("calc")
@pytest.mark.parametrize("attack", ["runs no test", "equals everything"])
async def test_code_that_makes_its_tests_pass_is_suspect_in_a_chat(chatting, attack):
    run = chatting(f"printf '{ATTACKS[attack][2]}' | cat - calc.py > new && cat new > calc.py && rm new")
    await run.run(within=90.0)
    assert judged(run)["why"] == "suspect", run.story()


@pytest.fixture
def migrating(project, driven):
    """A migration of two sources, each of which has a test of its own."""

    def make(fix):
        project(
            **{f"src__{name}.py": f"def {name}():\n    return 'old'\n" for name in "ab"},
            **{
                f"test_{name}.py": f"from src.{name} import {name}\ndef test_it():\n    assert {name}() == 'new'\n"
                for name in "ab"
            },
        )
        check = f'{PYTEST} "test_$(basename {{file}})"'
        finder = FinderSpec(recipe=Recipe.MIGRATE, check=check, globs=["src/*.py"], concurrency=1, sceptics=0)
        run = driven(loop=LoopKind.UNTIL_DRY, finder=finder, budget=Budget(steps=8))
        run.model = Fixer(fix)
        return run

    return make


async def test_in_a_migration(migrating):
    run = migrating(lambda path, nth: edit(path, "old", "new"))
    outcome = await run.run(within=90.0)
    assert (outcome.reason, outcome.exit_code) == ("dry", 0), run.story()
    assert len([one for one in run.of("plant_prepared") if one["plan"]]) == 2
    assert "planted test" in judged(run)["plant"], judged(run)
    start = "Judge: at the end the check of each item runs once more, and those of 2 items once with planted tests"
    assert said(run).startswith(start), said(run)


async def test_code_that_makes_its_tests_pass_is_suspect_in_a_migration(migrating):
    patch = "    import _pytest.python\n    _pytest.python.Function.runtest = lambda self: None\n    return 'old'"
    run = migrating(lambda path, nth: edit(path, "    return 'old'", f"    return 'new'\n\n\nif True:\n{patch[:-17]}"))
    outcome = await run.run(within=90.0)
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5), run.story()
    assert judged(run)["why"] == "suspect", judged(run)


ENDS = {
    "a check that starts no runner": (
        Predicates(until=["grep -q 'x + x' calc.py"]),
        "Judge: at the end the check runs once more; no failing test can be planted (first run ",
    ),
    "two checks": (
        Predicates(until=[PYTEST, "grep -q 'x + x' calc.py"]),
        "Judge: at the end the 2 checks run once more, and once with planted tests that must fail (first runs ",
    ),
    "a setup and a second check": (
        Predicates(until=["grep -q 'x + x' calc.py"], setup="true", holdout="sh b.sh", holdout_files=["b.sh"]),
        "; --setup took ",
    ),
}


@pytest.mark.parametrize("case", ENDS)
async def test_the_start_says_what_the_judge_will_run(project, driven, case):
    project(**{"calc.py": WRONG, "test_calc.py": TESTS, "b.sh": "grep -q 'x + x' calc.py\n"})
    wanted, words = ENDS[case]
    run = driven("true", predicates=wanted, budget=Budget(steps=1))
    await run.run(within=90.0)
    assert words in said(run), said(run)
    assert (" and the second check" in said(run)) == (wanted.holdout is not None) or "; the second check" in said(run)


@pytest.mark.usefixtures("calc")
async def test_a_goal_that_is_met_has_no_such_line(driven):
    run = driven(until=["grep -q def calc.py"], budget=Budget(steps=1))
    outcome = await run.run(within=90.0)
    assert outcome.reason == "done" and not run.of("judge_planned"), run.story()


@pytest.mark.usefixtures("calc")
async def test_in_a_paced_run(driven):
    run = driven(FIX, DONE, loop=LoopKind.PACED, task="Mend it.", until=[PYTEST], budget=Budget(steps=4))
    outcome = await run.run(within=90.0)
    assert is_done(run, outcome) and is_planted(run, "at the end")
