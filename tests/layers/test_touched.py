"""What was written in a layer is known also where all is as it was before in the end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .conftest import AsUser, Bench

BACK = {
    "cp -p tests/a kept; echo x > tests/a; cat tests/a; cp -p kept tests/a; rm kept": ["tests/a"],
    "cp -p tests/a kept; echo x > new; mv new tests/a; mv kept tests/a": ["tests/a"],
    "cp -p tests/a kept; mv kept tests/a": ["tests/a"],
    "printf x >> tests/a; truncate -s 4 tests/a; touch -r tests/b tests/a": ["tests/a"],
    "rm tests/a; printf 'one\\n' > tests/a": ["tests/a"],
    "cp -rp tests saved; rm -rf tests; mkdir tests; cp -rp saved/. tests/; rm -rf saved": [
        "tests/a",
        "tests/b",
        "tests/deep/c",
    ],
    "touch tests/a": ["tests/a"],
    "ln tests/a other; rm other": ["tests/a"],
    "exec 3<> tests/a; cat <&3": ["tests/a"],
    "mv tests/deep/c x; mv x tests/deep/c": ["tests/deep/c"],
}
NOTHING = (
    "cat tests/* >/dev/null; ls -R tests; grep -r one .",
    "echo x > tests/new; mkdir tests/more; rm tests/new; rmdir tests/more",
    "chmod 755 tests; touch tests; echo x > elsewhere",
)


def prepare(ws: Path) -> None:
    (ws / "tests/deep").mkdir(parents=True)
    for name, text in (("a", "one\n"), ("b", "two\n"), ("deep/c", "three\n")):
        (ws / "tests" / name).write_text(text)
        os.utime(ws / "tests" / name, (1_000_000_000, 1_000_000_000))


PATHS = ("tests/a", "tests/b", "tests/deep/c", "not/there")


def check(bench: Bench, script: str, wanted: list[str]) -> None:
    layer = bench.layer()
    done = bench.run(layer, script)
    assert done.returncode == 0, done.stderr
    layer.seal(5)
    assert [one.path for one in layer.effects()[0] if one.path.startswith("tests/")] == []
    assert layer.touched(PATHS) == wanted
    layer.drop()


@pytest.mark.parametrize("script", BACK)
def test_a_file_that_was_written_and_restored_is_known(bench: Bench, script: str):
    prepare(bench.ws)
    check(bench, script, BACK[script])


@pytest.mark.parametrize("script", NOTHING)
def test_a_file_that_was_only_read_is_not_taken_for_written(bench: Bench, script: str):
    prepare(bench.ws)
    check(bench, script, [])


def test_a_deleted_and_a_changed_file_are_known(bench: Bench):
    prepare(bench.ws)
    layer = bench.layer()
    bench.run(layer, "rm -r tests/deep; echo x > tests/a")
    layer.seal(5)
    assert layer.touched(PATHS) == ["tests/a", "tests/deep/c"]


def test_an_ordinary_user_knows_it_too(as_user: AsUser):
    def act(folder: Path) -> None:
        bench = Bench(folder)
        prepare(bench.ws)
        for script, wanted in BACK.items():
            check(bench, script, wanted)
        for script in NOTHING:
            check(bench, script, [])
        bench.close()

    as_user(act)
