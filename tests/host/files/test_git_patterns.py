"""Brackets in patterns of a `.gitignore`, compared with git itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from sampling import examples

from rundry.agent.host.files.git_patterns import is_pattern
from rundry.agent.host.ignored_files import Ignore

FILES = (
    *["a.log", "b", "z", "xa", "xz", "x-", "x7", "a-b", "]", "x]", "[", "^", "-", "x!", "\\a", "d/b", "d/z/x"],
    "a b",
)
CHARACTERS = "[]!-^azx*?\\/.:79"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for name in FILES:
        (root / name).parent.mkdir(exist_ok=True, parents=True)
        (root / name).touch()
    return root


def git_and_ours(root: Path, line: str) -> tuple[list[str], list[str]]:
    """Return the files that are left with this pattern."""
    (root / ".gitignore").write_text(f"{line}\n/.gitignore\n", encoding="utf-8")
    argv = ["git", "ls-files", "-z", "--others", "--exclude-standard"]
    listed = subprocess.run(argv, cwd=root, capture_output=True, check=True).stdout.decode()
    return sorted(filter(None, listed.split("\0"))), sorted(name for name, _ in Ignore(root).walk())


@pytest.mark.parametrize(
    "line",
    [
        *("x[z-a]", "**/[z-]", "[!]]", "[]]", "[^a-y]", "x[[:digit:]]", "[[:upper:]]*", "x[![:alnum:]]"),
        *("[\\]]", "x[\\--\\]]", "[[:no:]]", "[a", "x[", "[]", "[!]", "d[/]b"),
        *("d/[!b]", "[.-z]*", "d[!x]b", "[[:alpha:]-]*", "\\[", "[\\", "!z[a"),
    ],
)
def test_brackets_are_read_as_git_reads_them(project: Path, line: str) -> None:
    git, ours = git_and_ours(project, line)
    assert ours == git


@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["", "x", "*", "**/", "d/"]), st.text(CHARACTERS, min_size=1, max_size=7))
def test_any_brackets_are_read_as_git_reads_them(project: Path, before: str, inside: str) -> None:
    git, ours = git_and_ours(project, f"{before}[{inside}]")
    assert ours == git


@pytest.mark.parametrize("line", ["[a", "[[:no:]]", "a\\", "[]"])
def test_a_pattern_that_git_skips_is_known(line: str) -> None:
    assert not is_pattern(line) and is_pattern("[a-z]")
