"""Names that a command gave to one file are files of their own where they are applied."""

from __future__ import annotations

import os

import pytest

from .conftest import Bench
from .test_apply import carried_out, contents, rows_of
from .test_effects import fill

SCRIPTS = {
    "a new name of an old file": "ln src/one.txt .envrc; echo more >> .envrc",
    "written by the old name": "ln src/one.txt .envrc; echo more >> src/one.txt",
    "a new file with two names": "echo new > made; ln made .envrc; rm src/one.txt; ln made src/one.txt",
    "a name in another folder": "mkdir build; ln src/one.txt build/x; ln build/x .envrc; echo more >> build/x",
}
"""Each ends with `.envrc`, which waits, and `src/one.txt` as two names of one file."""


@pytest.mark.parametrize("first", [".envrc", "src/one.txt"])
@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_a_file_that_is_accepted_later_has_what_was_listed(bench: Bench, script: str, first: str):
    fill(bench.ws)
    layer = bench.layer()
    assert bench.run(layer, script).returncode == 0
    rows = rows_of(layer.effects(reads=lambda path: path != ".envrc")[0])
    assert {".envrc", "src/one.txt"} <= {row.path for row in rows}
    before = contents(bench.ws)
    for part in ([row for row in rows if row.path == first], [row for row in rows if row.path != first]):
        assert not any(one.conflict for one in carried_out(bench, layer, part))
        if before is not None:
            others = {".envrc", "src/one.txt"} - {first}
            now = contents(bench.ws)
            assert [now.get(path) for path in others] == [before.get(path) for path in others], "it waits"
            listed = (bench.ws / first).read_bytes()
            (bench.ws / first).write_bytes(listed + b"by the user\n")
            before = None
    second = bench.ws / ({".envrc", "src/one.txt"} - {first}).pop()
    assert second.read_bytes() == listed
    assert (bench.ws / first).read_bytes() == listed + b"by the user\n"
    assert all((bench.ws / row.path).stat().st_nlink == 1 for row in rows if (bench.ws / row.path).is_file())
    layer.drop()


def test_a_link_to_a_file_of_the_layer_does_not_reach_the_applied_file(bench: Bench):
    fill(bench.ws)
    layer = bench.layer()
    assert bench.run(layer, "echo listed > made").returncode == 0
    rows = rows_of(layer.effects(reads=lambda _: False)[0])
    os.link(layer.upper / "made", layer.folder / "kept")
    assert not any(one.conflict for one in carried_out(bench, layer, rows))
    (layer.folder / "kept").write_text("forged\n")
    assert (bench.ws / "made").read_text() == "listed\n"
    layer.drop()
