from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rundry.agent.protocol import UserError
from rundry.agent.verdict.predicates.required import RunActions, judge_required, parse_requirement

ROOT = Path("/work/project")


@dataclass
class Action:
    tool: str
    arguments: Any
    ok: bool | None = True
    step: int | None = 1
    ended: int = 10
    edited: bool = False
    disturbed: bool = False


@dataclass
class Run:
    """A command that exited with 0."""

    command: str
    ended: int = 10
    edited: bool = False
    disturbed: bool = False
    tool: str = "run_command"
    ok: bool | None = True
    step: int | None = 1
    arguments: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.arguments = {"command": self.command}


def passes(action: str, *actions: Any, **more: Any) -> bool:
    return judge_required(action, RunActions(actions=actions, root=ROOT, **more)).passed


@pytest.mark.parametrize(
    "line",
    [
        "pytest",
        "pytest -q tests",
        "'pytest' -q",
        "pytest && echo ok",
        "pytest > out.txt 2>&1",
        "echo start; pytest",
        "set -o pipefail; pytest | tail",
        "set -euo pipefail\npytest | tee log\necho done",
        "pytest || exit 1",
        "(pytest)",
        "{ pytest; }",
        "timeout 5 pytest",
        "timeout -k 1 5 pytest",
        "time pytest",
        "nice -n 5 pytest",
        "python -m pytest",
        "python3.12 -W error -m pytest -q",
        "uv run pytest",
        "uv run --with rich pytest",
        "uv run python -m pytest",
        "poetry run pytest",
        "coverage run -m pytest",
        "/usr/bin/pytest",
        "exec pytest",
        "sleep 1 & pytest",
        "[ -f x ] && pytest",
        "cat <<EOF\nx\nEOF\npytest",
    ],
)
def test_a_line_that_surely_ran_the_program_with_status_0_counts(line):
    assert passes("run_command:pytest", Run(line)), line


@pytest.mark.parametrize(
    "line",
    [
        "echo pytest",
        "grep pytest setup.cfg",
        "nosuch || true",
        "pytest || true",
        "pytest | tail",
        "pytest |& tail",
        "pytest; true",
        "pytest\ntrue",
        "pytest & wait",
        "pytest &",
        "! pytest",
        "! pytest | cat",
        "if false; then pytest; fi",
        "if pytest; then :; fi",
        "while pytest; do break; done",
        "for x in 1; do pytest; done",
        "case x in y) pytest;; esac",
        "true || pytest",
        "[ -f x ] || pytest",
        "exit 0; pytest",
        "exit 0 && pytest",
        "set -n; pytest",
        "set -e; set +e; pytest; true",
        "set -e; { pytest; true; } && echo",
        "alias pytest=true; pytest",
        "shopt -s expand_aliases\nalias pytest=true\npytest",
        "function pytest { :; }\npytest",
        "pytest() { :; }; pytest",
        "pytest() { :; }\ntimeout 5 true && pytest",
        "eval pytest",
        "eval 'pytest() { :; }'; pytest",
        "source mine.sh; pytest",
        "trap 'exit 0' EXIT; pytest",
        "PATH=.:$PATH; pytest",
        "PATH=. pytest",
        "export PATH=.; pytest",
        "env PATH=. pytest",
        "read PATH <<< .; pytest",
        "for PATH in .; do :; done; pytest",
        "printf -v PATH .; pytest",
        "LD_PRELOAD=./x.so pytest",
        "cd x && pytest",
        "cd x; pytest",
        "bash -c 'cd x && pytest'",
        "(cd /tmp/f; pytest)",
        "pushd x && pytest",
        "env -C x pytest",
        "env A=1 pytest",
        "A=1 pytest",
        "export A=1; pytest",
        "A=1; pytest",
        "declare -x A=1; pytest",
        "unset A; pytest",
        "env -u A pytest",
        "uv run --env-file e pytest",
        "bash -c 'export A=1; pytest'",
        "PYTHONPATH=/tmp/e pytest",
        "export PYTEST_ADDOPTS=--collect-only; pytest",
        "export MAKEFLAGS=n && pytest",
        "PYTEST_ADDOPTS=--co pytest",
        "./pytest",
        "bin/pytest",
        "/work/project/pytest",
        "/tmp/pytest",
        "command -v pytest",
        "which pytest",
        "type pytest",
        "pytest --version",
        "pytest --help",
        "pytest -h",
        "pytest --collect-only",
        "python -m pytest --version",
        "timeout --help pytest",
        "uv run --help pytest",
        "uv run --python pytest true",
        "uv run --with pytest true",
        "xargs pytest",
        "find . -exec pytest \\;",
        "$X",
        "$(echo pytest)",
        "x=$(pytest)",
        "echo $(pytest)",
        "cat <(pytest)",
        "pytest <<EOF || true\nx\nEOF",
        "bash -c 'pytest; true'",
        "bash -c 'pytest' || true",
        "bash -lc pytest",
        "echo '\npytest\n'",
        "cat <<EOF\npytest\nEOF",
        "# pytest",
        "true # && pytest",
        "'echo pytest'",
        "pytest\u00a0-q; true",
    ],
)
def test_a_line_that_only_mentions_the_program_or_hides_its_status_does_not_count(line):
    assert not passes("run_command:pytest", Run(line)), line


@pytest.mark.parametrize(
    ("wanted", "line", "counts"),
    [
        ("pytest tests", "pytest -q tests", True),
        ("pytest tests", "pytest -q ./tests/", True),
        ("pytest tests", "pytest -q testsuite", False),
        ("pytest tests", "pytest", False),
        ("pytest --version", "pytest --version", True),
        ("npm run test:unit", "npm run test:unit -- --ci", True),
        ("npm test", "npm test --if-present", False),
        ("npm test", "npm run test", False),
        ("uv run pytest", "uv run pytest -q", True),
        ("./check.sh", "./check.sh", True),
        ("check.sh", "./check.sh --all", True),
        ("check.sh", "bash check.sh", True),
        ("check.sh", "cat check.sh", False),
        ("tools/lint.py", "python tools/lint.py", True),
        ("ruff check", "ruff check . && ruff format --check .", True),
        ("ruff check", "ruff format check", False),
        ("ruff check", "ruff check . --exit-zero", False),
        ("make test", "make -C sub test", False),
        ("make -C sub test", "make -C sub test", True),
        ("A=1 pytest", "A=1 pytest -q", True),
        ("A=1 pytest", "A=2 pytest", False),
        ("make test", "git -C . status && make test", True),
        ("make test", "make test --dry-run", False),
        ("curl http://h/x", "curl http://h/x", True),
    ],
)
def test_the_arguments_of_a_command_have_to_be_there_in_their_order(wanted, line, counts):
    assert passes(f"run_command:{wanted}", Run(line)) is counts


def test_a_command_that_failed_or_has_not_ended_does_not_count():
    for ok in (False, None):
        assert not passes("run_command:pytest", Action("run_command", {"command": "pytest"}, ok=ok))
        assert not passes("run_command", Action("run_command", {"command": "pytest"}, ok=ok))


def test_a_command_of_which_something_was_not_applied_does_not_count():
    verdict = judge_required("run_command:pytest", RunActions(actions=[Run("pytest", disturbed=True)], root=ROOT))
    assert not verdict.passed
    assert "was not applied; run it again on its own" in verdict.detail
    assert passes("run_command:pytest", Run("pytest", disturbed=True), Run("pytest"))


def test_the_verdict_says_what_is_missing_and_how_to_run_it():
    verdict = judge_required("run_command:pytest", RunActions(actions=[Run("echo pytest")]))
    assert verdict.name == "require run_command:pytest"
    assert "no call of `run_command` with `pytest` has succeeded" in verdict.detail
    assert "its own exit status" in verdict.detail


class TestAfterTheLastEdit:
    wanted = "run_command:npm run test:unit:after-last-edit"
    line = "npm run test:unit"

    def test_the_suffix_is_not_part_of_the_text(self):
        found = parse_requirement(self.wanted)
        assert (found.text, found.after_last_edit) == ("npm run test:unit", True)
        assert parse_requirement("run_command:after-last-edit").text == ""
        assert not parse_requirement("run_command:x after-last-edit").after_last_edit

    def test_a_call_after_the_newest_change_counts_and_one_before_it_does_not(self):
        assert passes(self.wanted, Run(self.line, ended=10), last_edit=9)
        assert not passes(self.wanted, Run(self.line, ended=10), last_edit=11)
        assert passes(self.wanted.removesuffix(":after-last-edit"), Run(self.line, ended=10), last_edit=11)
        assert passes(self.wanted, Run(self.line, ended=10), Run(self.line, ended=20), last_edit=11)

    def test_files_that_the_command_itself_leaves_do_not_count_against_it(self):
        assert passes(self.wanted, Run(self.line, ended=10, edited=True), last_edit=9)
        assert passes(self.wanted, Run(f"cd . && {self.line}", ended=10, edited=True), last_edit=9)

    def test_a_line_that_also_changes_files_by_other_commands_does_not_count(self):
        for line in (f"{self.line} && echo x > a.py", f"sed -i s/a/b/ a.py && {self.line}"):
            assert not passes(self.wanted, Run(line, ended=10, edited=True), last_edit=9)

    def test_where_changes_by_commands_are_unknown_any_later_command_counts_as_one(self):
        later = Run("make clean", ended=20)
        assert not passes(self.wanted, Run(self.line), later, last_edit=9, is_watched=False)
        assert passes(self.wanted, Run(self.line), later, last_edit=9)


class TestFiles:
    edit = Action("edit_file", {"path": "src/b.py", "edits": [{"old_text": "x", "new_text": "needle"}]}, step=3)
    applied = frozenset({(3, "src/b.py")})

    @pytest.mark.parametrize("path", ["", ":src/b.py", ":./src/b.py", ":b.py", ":src/*.py"])
    def test_an_edit_that_was_applied_counts_for_its_path(self, path):
        assert passes(f"edit_file{path}", self.edit, applied=self.applied)

    @pytest.mark.parametrize("path", [":needle", ":.py", ":rc/b.py", ":other/b.py", ":b"])
    def test_another_path_or_the_text_of_the_edit_does_not(self, path):
        assert not passes(f"edit_file{path}", self.edit, applied=self.applied)

    def test_an_edit_that_was_undone_or_never_applied_does_not_count(self):
        assert not passes("edit_file:src/b.py", self.edit)
        assert not passes("edit_file:src/b.py", self.edit, applied=frozenset({(2, "src/b.py")}))

    def test_a_path_may_be_written_in_another_way(self):
        absolute = Action("write_file", {"path": str(ROOT / "src/b.py")}, step=3)
        assert passes("write_file:src/b.py", absolute, applied=self.applied)

    def test_reading_needs_the_path_and_not_its_line(self):
        read = Action("read_file", {"path": "src/a.py", "start_line": 3})
        assert passes("read_file:a.py", read)
        assert not passes("read_file:3", read)

    def test_other_tools_match_a_text_of_their_arguments(self):
        fetched = Action("fetch_url", {"url": "http://h/x"})
        assert passes("fetch_url:http://h/x", fetched)
        assert not passes("fetch_url:http://other", fetched)
        assert not passes("finish", fetched)


@pytest.mark.parametrize("text", ["pytest && ruff", "pytest | tail", "$X", "'", "pytest &", "a; b", "(a)(b)"])
def test_a_text_that_is_not_one_plain_command_is_refused(text):
    with pytest.raises(UserError, match="one plain command"):
        parse_requirement(f"run_command:{text}")
