"""Patterns that reject most paths quickly decide as pathspec does."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies
from pathspec import GitIgnoreSpec

from rundry.agent.host.files.quick_spec import QuickSpec

NAMES = ["tests/**", "**/tests/**", "test_*.*", "*.spec.*", "conftest.py", ".github/workflows/**", "Makefile", ".env.*"]
LISTS = [
    NAMES,
    ["*.py", "!keep.py", "build/", "/top", "a/**/b", "**/deep/", "x[0-9]?", "\\!odd", "# no", ""],
    ["!only.py"],
    ["a|b", "(c", "d$", "^e", "{f}", "g+h"],
    [],
]
PATHS = [
    *(
        "a.py",
        "keep.py",
        "x/keep.py",
        "build/",
        "x/build/",
        "build",
        "top",
        "x/top",
        "a/b",
        "a/x/y/b",
        "deep/",
        "x/deep/",
    ),
    *("x1y", "x/x1y", "!odd", "tests/a", "x/tests/a/b", "test_a.py", "x/test_a.py", "conftest.py", "x/conftest.py/y"),
    *(
        "a|b",
        "a",
        "b",
        "(c",
        "d$",
        "^e",
        "{f}",
        "g+h",
        "ggh",
        "./a.py",
        "/a.py",
        "line\nbreak.py",
        "\udcff.py",
        "ä/test_ö.x",
    ),
    *(".github/workflows/x.yml", "x/.gitlab-ci.yml", ".env", ".env.local", "Makefile", "src/makefile", ""),
]


@pytest.mark.parametrize("lines", LISTS)
def test_a_path_matches_exactly_if_pathspec_says_so(lines: list[str]):
    quick, slow = QuickSpec(lines), GitIgnoreSpec.from_lines(lines)
    for path in PATHS:
        assert quick.match_file(path) == slow.match_file(path), path
        assert quick.verdict(path) == slow.check_file(path).include, path


@given(
    strategies.lists(strategies.text("ab/*?![]\\. #", max_size=7), max_size=5),
    strategies.lists(strategies.text("ab/. \n", min_size=1, max_size=8), max_size=5),
)
def test_any_patterns_decide_as_in_pathspec(lines: list[str], paths: list[str]):
    try:
        slow = GitIgnoreSpec.from_lines(lines)
    except ValueError:
        return
    quick = QuickSpec(lines)
    for path in paths:
        assert quick.verdict(path) == slow.check_file(path).include
