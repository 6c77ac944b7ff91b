"""A check whose exit code hides the failure of a command is named (docs/requirements.md 2.3.1)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rundry.agent.verdict.checks.hidden_exit import hidden_exit_notes

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
    "env A=1 timeout 20 bash -c 'suite | cat'": "pipe",
    "eval 'suite | cat'": "pipe",
    "! suite": "`!`",
    "cd . && ! suite": "`!`",
    "suite; exit 0": "last command",
    "(suite; exit 0)": "last command",
    "(suite; true) && echo fine": "last command",
    "suite || { echo failed; true; }": "||",
    "suite || (cat /dev/null)": "||",
    "(suite || exit 1); true": "last command",
    "set -e; set +e; suite; true": "last command",
    "set +o pipefail; suite | cat": "pipe",
    "set -o pipefail; set +o pipefail; suite | cat": "pipe",
    "set -e; suite && echo fine; true": "last command",
    "set -e; suite && true && true; true": "last command",
    "set -e; ! suite; true": "`!`",
    "if suite; then echo fine; fi": "`if`",
    "if suite; then echo fine; else echo failed; fi": "`if`",
    "if suite; then echo fine; fi; echo done": "last command",
    "for t in 1 2; do suite; done; true": "last command",
}
SHOWN = [
    "echo suite | bash",
    "bash <<E\nsuite\nE\n",
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
    "suite; exit",
    "suite || exit",
    "suite || exit 1; echo done",
    "suite || { echo failed; exit 1; }; echo done",
    "suite & wait $!",
    "bash -ec 'suite; true'",
    "bash -o pipefail -c 'suite | cat'",
    "set -e; cd . && suite; echo done",
    "for t in 1 2; do suite || exit 1; done",
    "set -e; for t in 1 2; do suite; done; echo done",
    "for t in 1 2; do suite && break; done",
    "code=0; for t in 1 2; do suite || code=1; done; exit $code",
    "if suite; then echo fine; else exit 1; fi",
    "if test -d /; then suite; fi",
    "if ! suite; then echo failed; exit 1; fi",
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


def test_a_loop_that_hides_all_but_its_last_round_is_named(tmp_path: Path):
    line = "for code in 1 0; do sh -c 'exit $0' $code; done"
    assert subprocess.run(["bash", "-c", line], timeout=30).returncode == 0
    (note,) = hidden_exit_notes([line])
    assert "last round" in note, note


@pytest.mark.parametrize(
    "line", ["! grep -r TODO src", "! git diff --quiet", "! test -e x", "if grep -q x y; then echo found; fi"]
)
def test_a_command_that_answers_a_question_may_be_negated(line: str):
    assert hidden_exit_notes([line]) == []


FILES = {
    "a recipe with a minus": ("make test", "Makefile", "test:\n\t-suite\n"),
    "a recipe with a pipe": ("make test", "Makefile", "test: all\n\t@suite | tail -3\nall:\n\ttrue\n"),
    "a target that ignores errors": ("make test", "Makefile", ".IGNORE:\ntest:\n\tsuite\n"),
    "a package script": ("npm test", "package.json", '{"scripts": {"test": "suite || true"}}'),
    "a script": ("bash run.sh", "run.sh", "suite\nexit 0\n"),
    "a script by its path": ("./run.sh", "run.sh", "#!/bin/sh\n# all tests\nsuite | tee log\n"),
    "a script from a recipe": ("make", "Makefile", "test:\n\tsh -c 'suite; true'\n"),
}


@pytest.mark.parametrize("kind", FILES)
def test_what_a_script_or_a_recipe_hides_is_named(kind: str, tmp_path: Path):
    line, file, text = FILES[kind]
    (tmp_path / file).write_text(text)
    (note,) = hidden_exit_notes([line], tmp_path)
    assert note.startswith(f"check `{line}`: what `") or "bash" in line, note
    assert "suite" in note or "make -i" in note, note


@pytest.mark.parametrize(
    ("line", "file", "text"),
    [
        ("make test", "Makefile", "test:\n\tsuite\nother:\n\tsuite | cat\n"),
        ("npm test", "package.json", '{"scripts": {"test": "suite && other"}}'),
        ("bash run.sh", "run.sh", "#!/bin/bash\n# all tests\nset -euo pipefail\nsuite | tee log\necho done\n"),
        ("./run.sh", "run.sh", "#!/bin/sh -e\nsuite\necho done\n"),
    ],
)
def test_what_a_script_or_a_recipe_shows_is_not_named(line: str, file: str, text: str, tmp_path: Path):
    (tmp_path / file).write_text(text)
    assert hidden_exit_notes([line], tmp_path) == []


@pytest.mark.parametrize(
    "line",
    ["make -n test", "pytest --collect-only", "python3 -m pytest --co", "cargo test --no-run", "mvn test -DskipTests"],
)
def test_an_option_that_runs_no_test_is_named(line: str):
    (note,) = hidden_exit_notes([line])
    assert "run no test" in note, note


@pytest.mark.parametrize("line", ["MAKEFLAGS=-i make test", "MAKEFLAGS=i make test", "mvn -fn test"])
def test_a_setting_that_ignores_failures_is_named(line: str):
    (note,) = hidden_exit_notes([line])
    assert "exit with 0" in note, note


@pytest.mark.parametrize("line", ["make -i test", "make -ki", "make --ignore-errors", "ruff check --exit-zero ."])
def test_an_option_that_ignores_failures_is_named(line: str):
    (note,) = hidden_exit_notes([line])
    assert "exit with 0" in note, note


@pytest.mark.parametrize(
    "line",
    [
        "make -k test",
        "make -C notes test",
        "make -j4 test",
        "pytest -n 4",
        "test $(ls | wc -l) -eq 3",
        "if suite | grep -q x; then exit 1; fi",
        "",
        "'",
        "\0",
        "a | " * 9000,
    ],
)
def test_what_is_not_certain_is_not_named(line: str):
    assert hidden_exit_notes([line]) == []
