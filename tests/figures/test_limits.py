"""The limits on imports, complexity and wording, with the exceptions that exist today."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

from .house import constructor_callbacks
from .imports import circles, import_graph
from .prose import texts_of
from .ratchet import allowed, grown, refusals, wording_today
from .source import ROOT, Place, Source, code_of, read_tree
from .suite import files_of_tests, fixed_pauses, private_names, unasserted
from .walks import walks
from .wording import Hit, patterns

HOW = "cd tests && python -m figures.ratchet"
CALLBACKS = 40
"""Functions that constructors take: rows of tables, listeners, and what other processes call (decision 0041)."""
RULES = {"C901", "PLR0911", "PLR0912", "PLR0913", "PLR0915"}


@cache
def sources() -> list[Source]:
    return read_tree(ROOT)


def test_no_circle_of_imports_exists():
    assert circles(import_graph(code_of(sources()))) == []


def test_no_constructor_takes_another_function():
    found = list(constructor_callbacks(code_of(sources())))
    assert len(found) <= CALLBACKS, "\n".join(str(place) for place in found)


def test_no_package_gains_forbidden_wording_and_the_list_follows_each_rewrite():
    today, before = wording_today(ROOT, sources())["wording"], allowed()["wording"]
    assert grown(today, before) == {}, "see them: cd tests && python -m figures.wording PACKAGE"
    assert {name: today.get(name, 0) for name in before} == before, HOW


def test_the_list_of_exceptions_only_shrinks():
    before = {"wording": {"agent/run": 3, "tui": 1}}
    assert refusals({"wording": {"agent/run": 1, "tui": 3}}, before) == []
    refused = refusals({"wording": {"tui": 5}}, before)
    assert [line.partition(";")[0] for line in refused] == ["wording: 5 instead of 4"]


def test_an_exception_to_a_rule_of_ruff_is_deleted_once_it_is_not_needed():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]["per-file-ignores"]
    listed = {(glob, rule) for glob, rules in settings.items() for rule in rules if rule in RULES}
    command = [
        Path(sys.executable).with_name("ruff"),
        "check",
        "--select",
        ",".join(RULES),
        "--output-format",
        "json",
        ".",
    ]
    ran = subprocess.run(
        [*command, "--config", "lint.per-file-ignores={}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    found = {(Path(row["filename"]).relative_to(ROOT).as_posix(), row["code"]) for row in json.loads(ran.stdout)}
    used = {(glob, rule) for glob, rule in listed for path, code in found if code == rule and _matches(path, glob)}
    assert sorted(listed - used) == []


def _matches(path: str, glob: str) -> bool:
    return fnmatch(path, glob) or fnmatch(path, glob.replace("/**/", "/"))


def test_each_file_on_a_walk_exists():
    missing = [str(place) for places in walks(ROOT).values() for place in places if not (ROOT / place.what).exists()]
    assert missing == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"""Start the loop anew."""', ["anew"]),
        ('"""Close the connection at once."""', ["at once"]),
        ('"""Read several files at once, or all of them at once."""', []),
        ('"""The person is told what failed."""', ["is told"]),
        ('"""Two runs that cannot be told apart."""', []),
        ('"""A path that is no text. There is no run, and it is no longer open."""', ["is no"]),
        ("# It is put back, for good, and the mend is named.\n", ["for good", "put back", "the mend"]),
        ("# A run taken up goes on beside so many others.\n", ["take up", "go on", "beside", "so many"]),
        ("# None may end.\n", ["none may"]),
        ('"""Who leaves a run reads its end."""', ["Who ..."]),
        ('"""Who is asked first?"""', []),
        ('def f():\n    """The fold."""', ["The X.", "one or two words"]),
        ('def _f():\n    """Works."""', []),
        ('def test_a_run_is_told():\n    """A run that works."""', ["is told"]),
        ('NAME = "anew"\nLINE = f"start {NAME} anew"', ["anew"]),
        ('"""Return the run; None: there is none."""', ["None: ..."]),
        ('"""The text of the line. Empty: all rows."""', ["None: ..."]),
        ('"""Return the run, or None if there is none."""', []),
    ],
)
def test_each_pattern_finds_its_words_and_nothing_else(text: str, found: list[str]):
    hits = [
        Hit(pattern, part)
        for part in texts_of(Source("tui/a.py", text), with_strings=True)
        for pattern in patterns()
        for _ in range(pattern.hits(part))
    ]
    assert sorted(hit.pattern.name for hit in hits) == sorted(found)


def test_a_pattern_for_some_folders_is_not_searched_for_in_others():
    text = texts_of(Source("docs/a.py", '"""Return the run; None: there is none."""'), with_strings=True)
    assert [pattern.name for part in text for pattern in patterns() if pattern.hits(part)] == []


def test_subjects_of_commits_have_at_most_72_characters(tmp_path: Path):
    for subject, code in (("x" * 72, 0), ("x" * 73, 1), (f"{'x' * 60}\n\n{'a long body ' * 20}", 0)):
        message = tmp_path / "message"
        message.write_text(subject)
        ran = subprocess.run([ROOT / ".dev/commit-msg", message], capture_output=True, text=True, check=False)
        assert ran.returncode == code, subject
        assert bool(re.search("73 characters", ran.stderr)) == bool(code)


def test_a_test_that_hangs_fails_at_its_time_limit_and_the_others_run(tmp_path: Path):
    (tmp_path / "test_hangs.py").write_text(
        "import threading\ndef test_hangs():\n    threading.Event().wait()\ndef test_other(): ...\n"
    )
    command = [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "--rootdir", tmp_path, tmp_path]
    ran = subprocess.run([*command, "-o", "timeout=1"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "Failed: Timeout (>1.0s)" in ran.stdout, ran.stdout
    assert "1 failed, 1 passed" in ran.stdout


@pytest.mark.parametrize("habit", [unasserted, fixed_pauses, private_names])
def test_each_test_asserts_waits_for_conditions_and_uses_public_names(habit: Callable[[list[Source]], list[Place]]):
    assert [str(place) for place in habit(files_of_tests(sources()))] == []


def test_a_test_that_only_calls_something_asserts_nothing():
    text = "import pytest\ndef check(x):\n    assert x\ndef deep():\n    check(1)\nclass Page:\n    def sees(self):\n"
    text += "        deep()\ndef test_a(run):\n    run()\ndef test_b(page):\n    page.sees()\n"
    text += "def test_c():\n    deep()\n"
    text += "def test_d():\n    with pytest.raises(ValueError):\n        int('x')\ndef test_e(x):\n    x.check()\n"
    assert [place.what for place in unasserted([Source("tests/test_x.py", text)])] == ["test_a", "test_e"]


def test_only_pauses_of_a_fixed_time_count():
    text = "import time\ntime.sleep(0.1)\ntime.sleep(0)\nwhile True:\n    time.sleep(0.1)\ntime.sleep(GRACE * 2)\n"
    text += "async def f(pilot, clock):\n    await pilot.pause(1)\n    await pilot.pause()\n    await clock.sleep(9)\n"
    found = fixed_pauses([Source("tests/test_x.py", text), Source("tests/bench/x.py", text)])
    assert [place.line for place in found] == [2, 8]


def test_only_private_names_of_others_count():
    text = "import os\nfrom a import _b\nclass C:\n    def f(self, other):\n        self._c = other._c + other._d\n"
    text += "os._exit(0)\nprint(__file__, C.__name__)\n"
    assert [place.what for place in private_names([Source("tests/test_x.py", text)])] == ["_b", "_d"]
