import subprocess
import sys
import time

import pytest

from rundry.agent.verdict.counting.compare_counts import why_suspect
from rundry.agent.verdict.counting.count_tests import count_failing, count_tests
from rundry.agent.verdict.counting.counted import Counted

PYTEST = """
=================================== FAILURES ===================================
FAILED tests/test_a.py::test_one - assert 1 == 2
=========================== short test summary info ============================
================ 3 failed, 11 passed, 1 skipped, 2 errors in 0.12s ================
"""
UNITTEST = """
FAIL: test_a (test_calc.Adds.test_a)
----------------------------------------------------------------------
Ran 5 tests in 0.001s

FAILED (failures=2, errors=1, skipped=1)
"""
GO = """--- FAIL: TestAdd (0.00s)
    --- FAIL: TestAdd/negative (0.00s)
--- FAIL: TestSub (0.00s)
FAIL
FAIL\texample.com/calc\t0.002s
ok  \texample.com/other\t0.001s
FAIL\texample.com/broken [build failed]
"""
GO_JSON = """{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p","Test":"TestA","Elapsed":0}
{"Action":"fail","Package":"p","Test":"TestA/sub","Elapsed":0}
{"Action":"fail","Package":"p","Elapsed":0}
"""
CARGO = """test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""
JUNIT = """<?xml version="1.0"?><testsuites><testsuite name="a" tests="3" failures="1" errors="1">
<testcase name="ok"/><testcase name="x"><failure message="m"><![CDATA[<testcase><failure>]]></failure></testcase>
<testcase name="y"><error message="m"/><error/></testcase></testsuite></testsuites>"""


@pytest.mark.parametrize(
    ("output", "failing"),
    [
        (PYTEST, 5),
        ("3 failed, 2 passed in 1.20s\n", 3),
        ("5 passed in 0.01s\n", 0),
        ("1 failed, 1 passed in 75.20s (0:01:15)\n", 1),
        ("2 errors in 0.20s\n", 2),
        (UNITTEST, 3),
        ("Ran 3 tests in 0.001s\n\nOK\n", 0),
        ("Ran 3 tests in 0.001s\n\nFAILED (unexpected successes=1)\n", 1),
        (GO, 3),
        ("ok  \texample.com/calc\t0.002s\n", 0),
        ("panic: boom\nFAIL\texample.com/calc\t0.002s\n", 1),
        (GO_JSON, 1),
        (CARGO, 2),
        ("# tests 3\n# pass 1\n# fail 2\n", 2),
        ("ℹ tests 3\nℹ fail 0\n", 0),
        ("Tests:       2 failed, 3 passed, 5 total\nTime: 1 s\n", 2),
        (" Tests  2 failed | 3 passed (5)\n", 2),
        ("  5 passing (12ms)\n  2 failing\n", 2),
        (JUNIT, 2),
        ("3 runs, 3 assertions, 1 failures, 2 errors, 0 skips\n", 3),
        ("Tests run: 3, Failures: 0, Errors: 2, Skipped: 0\n", 2),
        ("3 examples, 0 failures, 1 error occurred outside of examples\n", 1),
        ("\x1b[31m\x1b[1m1 failed\x1b[0m, \x1b[32m1 passed\x1b[0m\x1b[31m in 0.01s\x1b[0m\n", 1),
        ("1 failed in 0.01s\r\n", 1),
        (PYTEST + "  2 failing\n", 7),
    ],
)
def test_failing_tests_are_counted_as_each_runner_prints_them(output, failing):
    assert count_failing(output) == failing


@pytest.mark.parametrize(
    "output",
    ["", "error: something", "we had 3 failed attempts in total", "FAILED (failures=2)\n", "make: *** [all] Error 1"],
)
def test_output_without_a_summary_has_no_count(output):
    assert count_failing(output) is None


PYTEST_FILE = """
import pytest
def test_ok(): pass
def test_bad(): assert 0
@pytest.mark.parametrize("x", ["a b", "c - d", "PASSED y"])
def test_p(x): print("300 passed in 0.1s")
@pytest.mark.skip(reason="no")
def test_s(): pass
@pytest.mark.xfail
def test_xf(): assert 0
@pytest.fixture
def broken(): raise ValueError
def test_setup(broken): pass
"""
UNITTEST_FILE = """
import unittest
class A(unittest.TestCase):
    def test_ok(self):
        "A line of its own."
    def test_bad(self): self.fail()
    @unittest.skip("x")
    def test_s(self): pass
    @unittest.expectedFailure
    def test_xf(self): self.fail()
    def test_print(self): print("hello")
"""
NAMES = ["test_bad", "test_ok", "test_p[PASSED y]", "test_p[a b]", "test_p[c - d]", "test_setup"]


def said(folder, *argv):
    env = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *argv], cwd=folder, env=env, capture_output=True, text=True, timeout=60
    )
    return done.stderr + done.stdout


@pytest.mark.parametrize(
    "options", ["-q", "-v", "-rA", "-q -rA", "-s", pytest.param("-n 1 -v", marks=pytest.mark.long), "--color=yes"]
)
def test_what_pytest_really_prints_is_counted(tmp_path, options):
    (tmp_path / "test_a.py").write_text(PYTEST_FILE)
    counted = count_tests(said(tmp_path, "pytest", "-p", "no:cacheprovider", *options.split()))
    assert counted is not None
    assert (counted.ran, counted.failing) == (6, 2)
    if "v" in options or "A" in options:
        assert counted.names == [f"test_a.py::{name}" for name in NAMES]


@pytest.mark.parametrize("options", [[], ["-v"]])
def test_what_unittest_really_prints_is_counted(tmp_path, options):
    (tmp_path / "test_u.py").write_text(UNITTEST_FILE)
    counted = count_tests(said(tmp_path, "unittest", *options, "test_u"))
    assert counted is not None
    assert (counted.ran, counted.failing) == (3, 1)
    assert counted.names == ([f"test_u.A.test_{name}" for name in ("bad", "ok", "print")] if options else [])


HOSTILE = {
    "line feeds": "\n" * 3_000_000,
    "open sections": "<![CDATA[" * 300_000 + "<testsuite",
    "open tags": "<testsuite>" + "<testcase " * 200_000,
    "digits": "9" * 3_000_000 + " passed in 1s",
    "words": "1 subtests a" * 200_000,
    "spaces": "\u2713 " + " " * 3_000_000,
    "colons": "x::" * 1_000_000,
    "dots": "." * 3_000_000,
    "counts": "Tests: " + "1 a" * 500_000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_output_takes_long_to_count(kind):
    before = time.monotonic()
    count_tests(HOSTILE[kind])
    assert time.monotonic() - before < 20


@pytest.mark.parametrize(
    ("before", "now", "why"),
    [
        (Counted(ran=3, failing=1), None, "it printed no count of tests, although 3 tests ran before"),
        (
            Counted(ran=0, failing=1),
            None,
            "it printed no count of tests, although the tests could not be loaded before",
        ),
        (
            Counted(failing=1, broken=True),  # `go test` of a package that cannot be built
            None,
            "it printed no count of tests, although the tests could not be loaded before",
        ),
        (Counted(ran=3), Counted(ran=0), "no test ran, although 3 tests ran before"),
        (
            Counted(ran=0, broken=True),  # pytest whose conftest.py cannot be loaded
            Counted(ran=0),
            "no test ran, although the tests could not be loaded before",
        ),
        (Counted(ran=3), Counted(ran=2), "2 tests ran, and 3 before"),
        (Counted(ran=3), Counted(ran=3, failing=1), "its exit code is 0, but it counts 1 failing"),
        (Counted(ran=2, names=["a", "b"]), Counted(ran=2, names=["a", "c"]), "1 test that ran before did not run"),
        (Counted(names=["p", "q"]), Counted(names=["p"]), "1 package that ran before did not run"),
    ],
)
def test_tests_that_do_not_run_any_more_are_suspect(before, now, why):
    suspicion = why_suspect(before, now)
    assert suspicion is not None
    assert suspicion.why == why


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (None, None),
        (None, Counted(ran=3)),
        (Counted(ran=3, failing=3), Counted(ran=3)),
        (Counted(ran=0, failing=1), Counted(ran=20)),
        (Counted(ran=1, names=["a"]), Counted(ran=2, names=["a", "b"])),
        (Counted(ran=1, names=["a"]), Counted(ran=2)),
        (Counted(ran=0), Counted(ran=0)),
    ],
)
def test_added_tests_are_not_suspect(before, now):
    assert why_suspect(before, now) is None


CONTRADICTIONS = {
    "unittest through a pipe": ("Ran 3 tests in 0.001s\n\nFAILED (failures=1)\n", "1 failing"),
    "unittest that found none": ("\nRan 0 tests in 0.000s\n\nOK\n", "no test ran"),
    "unittest that says so": ("\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n", "no test ran"),
    "unittest with all skipped": ("\nRan 3 tests in 0.000s\n\nOK (skipped=3)\n", "no test ran"),
    "unittest with an error": ("\nRan 1 test in 0.000s\n\nFAILED (errors=1)\n", "1 failing"),
    "pytest through a pipe": ("2 failed, 1 passed in 0.02s\n", "2 failing"),
    "pytest that collected none": ("no tests ran in 0.01s\n", "no test ran"),
    "pytest with an error at collection": ("ERROR test_a.py\n1 error in 0.10s\n", "1 failing"),
    "pytest with all skipped": ("3 skipped in 0.01s\n", "no test ran"),
    "pytest with all deselected": ("3 deselected in 0.01s\n", "no test ran"),
    "pytest that cannot start": ("ImportError while loading conftest '/a/conftest.py'.\n", "could not be loaded"),
    "go with a failing test": ("--- FAIL: TestA (0.00s)\nFAIL\nFAIL\texample/a\t0.1s\n", "1 failing"),
    "go that does not build": ("FAIL\texample/a [build failed]\n", "1 failing"),
    "go without a test": ("ok  \texample/a\t0.1s [no tests to run]\n", "could not be loaded"),
    "cargo through a pipe": (
        "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n",
        "2 failing",
    ),
    "cargo without a test": (
        "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out\n",
        "no test ran",
    ),
    "node": ("# tests 3\n# pass 1\n# fail 2\n# cancelled 0\n# skipped 0\n# todo 0\n", "2 failing"),
    "node without a test": ("# tests 0\n# pass 0\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n", "no test ran"),
    "TAP": ("TAP version 13\n1..2\nok 1 - a\nnot ok 2 - b\n", "1 failing"),
    "TAP with all skipped": ("1..1\nok 1 - a # SKIP no database\n", "no test ran"),
    "jest": ("Tests:       1 failed, 2 passed, 3 total\n", "1 failing"),
    "jest with all skipped": ("Tests:       3 skipped, 3 total\n", "no test ran"),
    "mocha without a test": ("\n  0 passing (2ms)\n", "no test ran"),
    "mocha": ("\n  1 passing (2ms)\n  2 failing\n", "2 failing"),
    "JUnit XML": ('<testsuite><testcase name="a"><failure/></testcase></testsuite>', "1 failing"),
    "JUnit XML without a case": ("<testsuites><testsuite tests='0'></testsuite></testsuites>", "no test ran"),
    "rspec": ("3 examples, 1 failure\n", "1 failing"),
    "rspec without an example": ("0 examples, 0 failures\n", "no test ran"),
    "minitest": ("3 runs, 3 assertions, 1 failures, 0 errors, 0 skips\n", "1 failing"),
    "dotnet": ("Failed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3, Duration: 1 s\n", "1 failing"),
    "surefire": ("Tests run: 3, Failures: 1, Errors: 0, Skipped: 0\n", "1 failing"),
    "surefire with all skipped": ("Tests run: 3, Failures: 0, Errors: 0, Skipped: 3\n", "no test ran"),
    "exunit": ("3 tests, 1 failure\n", "1 failing"),
    "deno": ("FAILED | 2 passed | 1 failed (1ms)\n", "1 failing"),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_a_first_result_whose_counts_contradict_its_exit_code_0_is_suspect(case):
    output, why = CONTRADICTIONS[case]
    suspicion = why_suspect(None, count_tests(output))
    assert suspicion is not None and why in suspicion.why, suspicion


@pytest.mark.parametrize(
    "line",
    [
        "FAILED (failures=1)",
        "FAIL: test_add (test_calc.Add)",
        "FAILED tests/test_calc.py::test_add - assert 1 == 2",
        "not ok 3 - adds",
        "test adds ... FAILED",
        "make: *** [Makefile:2: test] Error 1",
        "npm ERR! Test failed.  See above for more details.",
    ],
)
def test_a_first_output_that_was_cut_to_a_failure_is_suspect(line: str):
    output = f"one line before\n{line}\n"
    assert count_tests(output) is None
    suspicion = why_suspect(None, None, output)
    assert suspicion is not None and line in suspicion.why


@pytest.mark.parametrize(
    "line", ["all fine", "rm: x: not found", "0 FAILED", "make: [Makefile:2: clean] Error 1 (ignored)"]
)
def test_a_first_output_without_counts_and_failures_passes(line: str):
    assert why_suspect(None, None, f"{line}\n") is None


NODE_SPEC = """▶ double
  ✔ throws (0.5ms)
  ✖ doubles (1.0ms)
▶ double (3ms)
✖ zero (0.1ms)
ℹ tests 3
ℹ pass 1
ℹ fail 2

✖ failing tests:

test at a.test.js:1:1
✖ zero (0.1ms)
"""
NODE_TAP = """TAP version 13
# Subtest: double
    # Subtest: doubles
    not ok 1 - doubles
    1..1
not ok 1 - double
# Subtest: zero
ok 2 - zero
1..2
# tests 2
# pass 1
# fail 1
"""
JEST = """FAIL ./a.test.js
  double
    ✕ doubles (1 ms)

  ● double › doubles

    expect(received).toBe(expected)

  ● Test suite failed to run

Tests:       1 failed, 1 passed, 2 total
"""
VITEST = """ ❯ a.test.mjs (2 tests | 1 failed) 5ms
 FAIL  a.test.mjs > double > doubles
AssertionError: expected 1 to be 2
 FAIL  |unit| b.test.mjs [ b.test.mjs ]
 Tests  1 failed | 1 passed (2)
"""
CARGO_BINARIES = """     Running unittests src/lib.rs (target/debug/deps/calc-1)
    Finished nothing
test tests::two ... FAILED

failures:

---- tests::two stdout ----
    not a test

failures:
    tests::two

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""
FAILED = {
    "pytest": (PYTEST, ["tests/test_a.py::test_one"]),
    "pytest with -v": (
        "a/test_b.py::T::test_c[1 2] FAILED [ 50%]\n1 failed in 0.1s\n",
        ["a/test_b.py::T::test_c[1 2]"],
    ),
    "pytest without setup": ("ERROR test_a.py::test_b - E\n1 error in 0.1s\n", []),
    "unittest": (UNITTEST, ["test_calc.Adds.test_a"]),
    "unittest before 3.11": (UNITTEST.replace("Adds.test_a", "Adds"), ["test_calc.Adds.test_a"]),
    "go": (GO, ["TestAdd", "TestSub"]),
    "go with -json": (GO_JSON, ["p.TestA"]),
    "cargo": (CARGO_BINARIES, ["unittests src/lib.rs: tests::two"]),
    "node": (NODE_SPEC, ["double > doubles", "zero"]),
    "node with TAP": (NODE_TAP, ["double", "double > doubles"]),
    "jest": (JEST, ["double › doubles"]),
    "vitest": (VITEST, ["a.test.mjs > double > doubles"]),
    "JUnit XML": (JUNIT, ["x"]),
}


@pytest.mark.parametrize("case", FAILED)
def test_failed_tests_are_named(case):
    output, failed = FAILED[case]
    counted = count_tests(output)
    assert counted is not None
    assert counted.failed == failed
