"""A check whose exit code hides the failure of a command is named (docs/requirements.md 2.3.1)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rundry.agent.stops.hidden_exit import hidden_exit_notes

HIDDEN = {
    "suite 2>&1 | tail -3": "pipe",
    "suite | tee log.txt": "pipe",
    "cd . && suite 2>&1 | cat": "pipe",
    "(suite | cat)": "pipe",
    "{ suite | cat; }": "pipe",
    "suite |& cat": "pipe",
    "set -e; suite | cat": "pipe",
    "suite || true": "||",
    "suite || :": "||",
    "suite || echo failed": "||",
    "suite || exit 0": "||",
    "suite; true": "last command",
    "suite; rm -f log.txt": "last command",
    "suite\necho done": "last command",
    "suite > log.txt; cat log.txt": "last command",
    "suite & wait": "&",
    "suite &": "&",
    "bash -c 'suite | cat'": "pipe",
    "sh -c 'suite || true'": "||",
}
SHOWN = [
    "suite",
    "cd . && suite",
    "cd .; suite",
    "export A=1; suite",
    "mkdir -p x; echo start; suite",
    "set -o pipefail; suite | cat",
    "set -euo pipefail; suite | tail -3",
    "set -e; suite; true",
    "suite | cat; exit ${PIPESTATUS[0]}",
    "suite; code=$?; exit $code",
    "suite > log.txt; test $? = 0",
    "suite || exit 1",
    "suite || false",
    "suite || suite",
    "suite && true",
    "bash -c 'suite'",
    "! true || suite",
]


@pytest.fixture
def exit_code(tmp_path: Path):
    """The exit code of a line in which `suite` fails."""
    program = tmp_path / "suite"
    program.write_text("#!/bin/sh\necho Ran 3 tests\nexit 1\n")
    program.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}

    def run(line: str) -> int:
        argv = ["bash", "--noprofile", "--norc", "-c", line]
        return subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, timeout=30).returncode

    return run


@pytest.mark.parametrize("line", HIDDEN)
def test_a_line_that_passes_although_its_suite_fails_is_named(line: str, exit_code):
    assert exit_code(line) == 0
    (note,) = hidden_exit_notes([line])
    assert "`suite`" in note and HIDDEN[line] in note, note


@pytest.mark.parametrize("line", SHOWN)
def test_a_line_that_fails_with_its_suite_is_not_named(line: str, exit_code):
    assert exit_code(line) != 0
    assert hidden_exit_notes([line]) == []


@pytest.mark.parametrize("line", ["make -i test", "make -ki", "make --ignore-errors", "ruff check --exit-zero ."])
def test_an_option_that_ignores_failures_is_named(line: str):
    (note,) = hidden_exit_notes([line])
    assert "exit with 0" in note, note


@pytest.mark.parametrize(
    "line",
    ["make -k test", "test $(ls | wc -l) -eq 3", "if suite | grep -q x; then exit 1; fi", "", "'", "\0", "a | " * 9000],
)
def test_what_is_not_certain_is_not_named(line: str):
    assert hidden_exit_notes([line]) == []
