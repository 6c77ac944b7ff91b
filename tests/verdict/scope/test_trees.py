"""The scope in trees of real repositories, which nobody wrote for it.

`trees.txt` has paths of 16 public repositories, drawn at random and then read by a person: `+` is what honest work
changes, `-` is what must not count. A file has no content here, so only its place and its name count;
scripts begin with `#!`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from verdict.scope.test_projects import made, scope_in

from rundry.agent.verdict.scope.scope import Scope

CONTENTS = {
    "tj/commander.js": {"package.json": '{"scripts": {"test": "node --test && npm run check:type:ts"}}'},
    "bats-core/bats-assert": {"package.json": '{"scripts": {"test": "bats ${CI+-t} test"}}'},
    "vitejs/vite-plugin-react": {"package.json": '{"scripts": {"test": "pnpm run test-unit"}}'},
}


def _read() -> list[tuple[str, str, str, bool]]:
    """Return repository, check, path, and whether it is honest work."""
    found: list[tuple[str, str, str, bool]] = []
    name = check = ""
    for line in Path(__file__).with_name("trees.txt").read_text().splitlines():
        sign, _, rest = line.partition(" ")
        if sign == "#":
            about, _, check = rest.partition(": ")
            name = about.split()[0]
        else:
            found.append((name, check, rest, sign == "+"))
    return found


ROWS = _read()


@pytest.fixture(scope="module")
def scopes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scope]:
    found = dict[str, Scope]()
    for name, check in dict.fromkeys((name, check) for name, check, _, _ in ROWS):
        of_name = [(path, is_work) for each, _, path, is_work in ROWS if each == name]
        files = {path: "#!/bin/sh\n" if is_work and "." not in path else "" for path, is_work in of_name}
        root = made(tmp_path_factory.mktemp("tree"), {**files, **CONTENTS.get(name, {})})
        found[name] = scope_in(root, check)
    return found


@pytest.mark.parametrize(("name", "check", "path", "is_work"), ROWS, ids=lambda value: str(value)[-60:])
def test_each_path_is_where_a_reader_put_it(scopes: dict[str, Scope], name: str, check: str, path: str, is_work: bool):
    why = scopes[name].why_out(path, new=False)
    assert (not why) is is_work, why


def test_there_are_trees_of_many_languages():
    assert len({name for name, _, _, _ in ROWS}) == 16
    assert len(ROWS) > 300
