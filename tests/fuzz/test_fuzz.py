"""A small, fixed sample of each fuzzing target; `python -m fuzz` runs them for long (CONTRIBUTING)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from fuzz.mutation import inputs
from fuzz.targets import TARGETS

EXAMPLES = {"journal": 15, "shell-line": 40}
"""What takes longer gets fewer."""


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_and_senseless_bytes_never_break_a_reader(name: str) -> None:
    target = TARGETS[name]
    tried = 0
    for data in target.seeds:
        target.run(data)

    @settings(
        max_examples=EXAMPLES.get(name, 60),
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(inputs(target))
    def check(data: bytes) -> None:
        nonlocal tried
        target.run(data)
        tried += 1

    check()
    assert tried >= EXAMPLES.get(name, 60) // 2


@pytest.mark.long
def test_the_command_for_a_long_run_runs_a_target_and_names_what_it_finds(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "fuzz", "--engine", "hypothesis", "--seconds", "1", "--keep", str(tmp_path / "found")]
    done = subprocess.run([*argv, "path"], cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "path: hypothesis" in done.stdout and "nothing was found" in done.stdout
    done = subprocess.run([*argv, "nosuch"], cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "unknown target nosuch" in done.stderr
