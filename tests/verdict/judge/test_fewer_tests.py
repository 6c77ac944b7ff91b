"""A result with fewer tests than at first counts if these tests are missing only because of undecided changes."""

from rundry.agent.protocol import Budget, LoopKind, Stop

from .reading import is_done, judged

CHECK = "python3 -m unittest"
TESTS = """import unittest
from calc import add, half


class Calc(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(1, 2), 3)

    def test_half(self):
        self.assertEqual(half(4), 2)
"""
FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n\n\ndef half(a):\n    return a / 2\n",
    "test_calc.py": TESTS,
}
FIX = "sed -i 's/a - b/a + b/' calc.py"
REMOVE = "sed -i '/test_half/,$d' test_calc.py"
FEW = Budget(steps=6)


async def test_work_that_passes_also_with_the_tests_that_the_run_removed_is_done(project, driven):
    project(**FILES)
    run = driven(f"{FIX}; {REMOVE}", until=[CHECK], budget=FEW)
    outcome = await run.run()
    assert is_done(run, outcome)
    assert run.of("check_finished")[-1]["suspect"] == "1 test ran, and 2 before", run.story()
    assert judged(run)["undecided"] == ["test_calc.py"] and judged(run)["counts"] == {CHECK: {"ran": 2, "failing": 0}}
    evidence = outcome.evidence
    assert (evidence.after.ran, evidence.missing_count, evidence.undecided) == (2, 0, ["test_calc.py"])


async def test_work_that_fails_with_the_tests_that_the_run_removed_is_a_suspect_check(project, driven):
    project(**FILES)
    run = driven(f"{FIX}; {REMOVE}; sed -i 's|a / 2|a|' calc.py", until=[CHECK], budget=FEW)
    outcome = await run.run()
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5), run.story()
    assert outcome.detail == f"suspect check: `{CHECK}`: 1 test ran, and 2 before"
    assert judged(run)["why"] == "suspect" and outcome.evidence.grade == "none"


async def test_a_chat_judges_it_too(project, driven):
    project(**FILES)
    run = driven(f"{FIX}; {REMOVE}", loop=LoopKind.CHAT, until=[CHECK]).on("judged", Stop())
    await run.run()
    assert judged(run)["passed"], run.story()
