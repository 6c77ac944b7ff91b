"""What accepts a change of what decides the check is proposed apart, and worded as what it is."""

import pytest

from rundry.agent import LookFirst, look_first_words
from rundry.agent.verdict.scope.next_options import NextOptions
from rundry.agent.verdict.scope.scope import Scope

SCOPE = Scope(decides={"verify.py": "the check starts it"})


def added(path: str, *, new: bool = False, decides: bool = False) -> NextOptions:
    options = NextOptions()
    options.add_scope(SCOPE, path, new=new, change="new" if new else "changed", decides=decides)
    return options


@pytest.mark.parametrize("path", ["report.csv", "out/summary.json", "docs/notes.md"])
def test_a_new_file_of_data_is_a_product(path: str):
    assert added(path, new=True).help and not added(path, new=True).look_first


@pytest.mark.parametrize(
    ("path", "new", "what"),
    [
        ("tests/test_money.py", False, "the changed test tests/test_money.py"),
        ("tests/test_new.py", True, "the new test tests/test_new.py"),
        ("golden/out.txt", True, "the new test golden/out.txt"),
        ("conftest.py", True, "the new test conftest.py"),
        ("pytest.ini", True, "the new setting pytest.ini"),
        ("sub/Makefile", False, "the changed setting sub/Makefile"),
        (".github/x.yml", True, "the new setting .github/x.yml"),
        ("sitecustomize.py", True, "the new setting sitecustomize.py"),
        ("limits.json", False, "the changed file limits.json"),
        ("verify.py", False, "the changed file verify.py"),
        ("vendor/a/b.py", True, "the new installed file vendor/a/b.py"),
    ],
)
def test_what_decides_the_check_is_apart_and_says_what_it_is(path: str, new: bool, what: str):
    options = added(path, new=new)
    assert not options.help and [one.accepts for one in options.look_first] == [what]


def test_a_source_is_apart_if_what_is_undecided_of_it_decides_the_check():
    """Such as the tests that it has inside."""
    assert added("src/lib.rs").help
    assert added("src/lib.rs", decides=True).look_first == [
        LookFirst("--scope src/lib.rs", "the changed file src/lib.rs")
    ]


@pytest.mark.parametrize(
    "command", ["npm ci", "cmake -S . -B build", "python3 -m venv .venv && .venv/bin/pip install x"]
)
def test_a_setup_that_only_installs_and_builds_is_proposed(command: str):
    options = NextOptions()
    options.add_setup(command)
    assert options.help and not options.look_first


@pytest.mark.parametrize(
    "command",
    [
        "touch .stamp",
        "./npm ci",
        "tools/make all",
        "sed -i s/5/4/ .venv/lib/m.py",
        "npm ci; echo 'exit 0' > node_modules/.bin/jest",
        "npm ci > node_modules/.bin/jest",
        "PYTHONPATH=x pip install y",
        "pip install $(cat x)",
        "python3 -m site",
        "npm ci &",
        "",
    ],
)
def test_a_setup_that_may_do_anything_is_apart(command: str):
    options = NextOptions()
    options.add_setup(command)
    assert not options.help and options.look_first[0].accepts == f"what `{command}` makes"


def test_the_words_name_everything_that_would_be_accepted():
    first, second = LookFirst("--scope a", "the new test a"), LookFirst("--scope b", "the changed file b")
    assert look_first_words([]) == ""
    assert look_first_words([first]) == "accept the new test a only if you have looked at it: --scope a"
    assert look_first_words([first, second]) == (
        "accept the new test a and the changed file b only if you have looked at them: --scope a --scope b"
    )
