"""What a failed check tells the model: the whole output, or one line if it fails exactly as before."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rundry.agent.protocol import CheckFinished
from rundry.agent.step.checks.feedback import feedback


def failed(output: str) -> CheckFinished:
    return CheckFinished(
        command="make test", passed=False, exit_code=1, timed_out=False, failing=None, output=output, seconds=1.0
    )


def is_as_before(before: str, after: str) -> bool:
    return "exactly as before" in feedback(failed(after), before)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("E <Node object at 0x7f2a10>", "E <Node object at 0x7ffd12ab3c40>"),
        ("<generator object flatten at 0x7FAA>", "<generator object flatten at 0x7fab01>"),
        ("1 failed in 0.11s", "1 failed in 12.30s"),
        ("--- FAIL: TestGcd (0.00s)", "--- FAIL: TestGcd (0.02s)"),
        ("x (5 ms)", "x (11 ms)"),
        ("Ran 3 tests in 0.001 seconds", "Ran 3 tests in 2 seconds"),
        ("worker pid 4711 crashed", "worker pid 12 crashed"),
        ("Process 17 ended", "Process 99 ended"),
        ("/tmp/pytest-of-root/pytest-3/test_a0/x", "/tmp/pytest-of-root/pytest-14/test_a0/x"),
        ("/tmp/tmpab12cd34/x", "/tmp/tmpzz99_k3x/x"),
    ],
)
def test_what_differs_in_every_run_does_not_count(before, after):
    assert is_as_before(before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("assert [1] == [2]", "assert [3] == [2]"),
        ("assert 5 == 2", "assert 6 == 2"),
        ("2 failed", "1 failed"),
        ("task 1 is open", "task 2 is open"),
        ("assert '2024-01-01 10:00' == ''", "assert '2024-01-02 10:00' == ''"),
        ("assert 0xff == 0", "assert 0xfe == 0"),
        ("  File a.py, line 3", "  File a.py, line 4"),
    ],
)
def test_a_value_that_the_program_computes_is_a_difference(before, after):
    assert not is_as_before(before, after)


def test_a_real_suite_that_fails_twice_in_the_same_way_fails_exactly_as_before(tmp_path: Path):
    (tmp_path / "test_it.py").write_text(
        "import os, time\n"
        "def test_it(tmp_path):\n"
        "    time.sleep(0.01)\n"
        "    print(tmp_path, 'pid', os.getpid())\n"
        "    assert object() == [object()]\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    first, second = (
        subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout for _ in range(2)
    )
    assert first != second and re.search(r"pytest-of-.*pytest-\d+", first) and "0x" in first
    assert is_as_before(first, second)
    assert not is_as_before(first, second.replace("object() ==", "list() =="))
