"""What a layer's effects make of the workspace: the same as the command itself, and nothing of the user's is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from rundry.agent.layers.apply import Load, Row, carry_out
from rundry.agent.layers.effects import Effect, Side
from rundry.agent.layers.layer import Layer
from rundry.agent.workspace.paths import Workspace

from .conftest import Bench
from .test_effects import CASES, fill, tree


def rows_of(effects: list[Effect]) -> list[Row]:
    return [Row(path=one.path, before=one.before, after=one.after) for one in effects if not one.conflict]


def applied(bench: Bench, script: str) -> list[Row]:
    layer = bench.layer()
    assert bench.run(layer, script).returncode == 0
    rows = rows_of(layer.effects()[0])
    results = carry_out(Workspace(bench.ws), rows, layer.load)
    assert not any(one.conflict for one in results), results
    again = carry_out(Workspace(bench.ws), rows, layer.load)
    assert not any(one.conflict for one in again), "rows can be repeated"
    layer.drop()
    return rows


def contents(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return what a user compares: types, the execute bit, bytes."""
    return {
        path: (kind, bool(mode & 0o100) and kind == 0o100000, data) for path, (kind, mode, data) in tree(folder).items()
    }


@pytest.mark.parametrize(("script", "expected"), CASES)
def test_applied_effects_give_the_tree_that_the_command_gives(bench: Bench, script: str, expected: str):
    del expected
    fill(bench.ws)
    direct = bench.folder / "direct"
    shutil.copytree(bench.ws, direct, symlinks=True)
    applied(bench, script)
    subprocess.run(["sh", "-c", script], cwd=direct, check=True)
    for path in direct.rglob("fifo"):
        path.unlink()
    assert contents(bench.ws) == contents(direct)


@pytest.mark.parametrize(("script", "expected"), CASES)
def test_the_inverse_rows_take_it_back(bench: Bench, script: str, expected: str):
    del expected
    fill(bench.ws)
    before, kept = contents(bench.ws), dict[str, bytes]()
    for path in bench.ws.rglob("*"):
        if path.is_symlink() or path.is_file():
            data = os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()
            kept[str(path.relative_to(bench.ws))] = data
    rows = applied(bench, script)
    results = carry_out(Workspace(bench.ws), [row.inverse for row in rows], lambda path, _: kept[path])
    assert not any(one.conflict for one in results), results
    assert contents(bench.ws) == before


def test_applied_effects_for_an_ordinary_user(as_user: Callable[[Callable[[Path], None]], None]):
    def act(folder: Path) -> None:
        for number, (script, _) in enumerate(CASES):
            own = folder / str(number)
            own.mkdir()
            bench = Bench(own)
            fill(bench.ws)
            applied(bench, script)
            bench.close()

    as_user(act)


def test_what_changed_since_the_list_stays_and_the_rest_is_applied(bench: Bench):
    fill(bench.ws)
    layer = bench.layer()
    script = """echo mine > src/one.txt; echo mine > made; rm docs/read.md; rm -rf src/deep; ln -sf x docs/link
    mkdir new; chmod -x run.sh"""
    assert bench.run(layer, script).returncode == 0
    rows = rows_of(layer.effects()[0])
    user = """echo theirs > src/one.txt; echo theirs > made; echo theirs > docs/read.md; echo theirs > src/deep/new
    ln -sf y docs/link; echo x > new"""
    subprocess.run(["sh", "-ec", user], cwd=bench.ws, check=True)
    results = {one.path: one.conflict for one in carry_out(Workspace(bench.ws), rows, layer.load)}
    assert {path for path, why in results.items() if why} == {
        "src/one.txt", "made", "docs/read.md", "src/deep", "docs/link", "new",
    }  # fmt: skip
    assert (bench.ws / "src/one.txt").read_text() == (bench.ws / "made").read_text() == "theirs\n"
    assert (bench.ws / "docs/link").readlink() == Path("y")
    assert [path.name for path in (bench.ws / "src/deep").iterdir()] == ["new"]
    assert not os.access(bench.ws / "run.sh", os.X_OK)


class Cut(Exception):
    """The process ends here."""


def load_until(layer: Layer, most: int) -> Load:
    """Return a loader that ends the process after a number of files."""
    left = iter(range(most))

    def load(path: str, side: Side) -> bytes:
        if next(left, None) is None:
            raise Cut
        return layer.load(path, side)

    return load


@pytest.mark.parametrize("cut", range(12))
def test_an_apply_that_was_cut_anywhere_is_finished_by_repeating_it(bench: Bench, cut: int):
    fill(bench.ws)
    layer = bench.layer()
    script = """rm -rf docs; echo now > docs; rm run.sh; mkdir -p run.sh/a; echo b > run.sh/a/b; rm -rf src/deep
    ln -s docs src/deep; echo x >> src/one.txt"""
    assert bench.run(layer, script).returncode == 0
    rows = rows_of(layer.effects()[0])
    with suppress(Cut):
        carry_out(Workspace(bench.ws), rows[: cut + 1], load_until(layer, cut % 4))
    results = carry_out(Workspace(bench.ws), rows, layer.load)
    assert not any(one.conflict for one in results), results
    assert (bench.ws / "docs").read_text() == "now\n" and (bench.ws / "run.sh/a/b").read_text() == "b\n"
    assert (bench.ws / "src/deep").readlink() == Path("docs")


def test_content_that_changes_after_the_list_is_not_applied(bench: Bench):
    fill(bench.ws)
    layer = bench.layer()
    assert bench.run(layer, "echo listed > made").returncode == 0
    rows = rows_of(layer.effects()[0])
    (layer.folder / "u/made").write_text("forged")
    (result,) = carry_out(Workspace(bench.ws), rows, layer.load)
    assert "has changed since it was listed" in result.conflict and not (bench.ws / "made").exists()


def test_a_folder_that_became_a_link_leads_nowhere(bench: Bench):
    fill(bench.ws)
    layer = bench.layer()
    assert bench.run(layer, "echo x > src/made; echo x >> src/one.txt; rm src/deep/two.txt").returncode == 0
    rows = rows_of(layer.effects()[0])
    outside = bench.folder / "outside"
    shutil.move(bench.ws / "src", outside)
    (bench.ws / "src").symlink_to(outside)
    before = contents(outside)
    results = carry_out(Workspace(bench.ws), rows, layer.load)
    assert {one.path for one in results if one.conflict} == {"src/made", "src/one.txt"}, "there is nothing to delete"
    assert contents(outside) == before
