import pytest

from rundry.agent.stops import count_failing

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
