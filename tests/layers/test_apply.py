"""What a layer's effects make of the workspace: the same as the command itself, and nothing of the user's is lost."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.layers.apply import CHANGED, Result, carry_out
from rundry.agent.layers.effect_rows import EffectRow
from rundry.agent.layers.layer import Layer
from rundry.agent.layers.layer_effects import Effect, Side
from rundry.agent.layers.written_files import Written, rename_beside

from .conftest import Bench, apart, mount
from .test_effects import CASES, fill, tree


def rows_of(effects: list[Effect]) -> list[EffectRow]:
    return [EffectRow(path=one.path, before=one.before, after=one.after) for one in effects if not one.conflict]


def carried_out(bench: Bench, layer: Layer, rows: list[EffectRow]) -> list[Result]:
    with layer.written() as written:
        return carry_out(Workspace(bench.ws), rows, written)


def applied(bench: Bench, script: str, reads: Callable[[str], bool] = lambda _: True) -> list[EffectRow]:
    layer = bench.layer()
    assert bench.run(layer, script).returncode == 0
    rows = rows_of(layer.effects(reads)[0])
    results = carried_out(bench, layer, rows)
    assert not any(one.conflict for one in results), results
    again = carried_out(bench, layer, rows)
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


class Kept:
    """The contents before a command, as the journal has them."""

    def __init__(self, contents: dict[str, bytes], staging: Path) -> None:
        self._contents, self._staging = contents, staging

    def load(self, path: str, side: Side) -> bytes:
        del side
        return self._contents[path]

    def make(self, path: str, side: Side, folder: int, name: str) -> None:
        file = self._staging / "made"
        file.write_bytes(self._contents[path])
        file.chmod(0o755 if side.executable else 0o644)
        rename_beside(file, folder, name)


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
    results = carry_out(Workspace(bench.ws), [row.inverse for row in rows], Kept(kept, bench.folder))
    assert not any(one.conflict for one in results), results
    assert contents(bench.ws) == before


@pytest.mark.parametrize(("script", "expected"), CASES)
def test_new_files_whose_bytes_nobody_read_are_moved_and_taken_back(bench: Bench, script: str, expected: str):
    del expected
    fill(bench.ws)
    direct = bench.folder / "direct"
    shutil.copytree(bench.ws, direct, symlinks=True)
    rows = applied(bench, script, reads=lambda _: False)
    subprocess.run(["sh", "-c", script], cwd=direct, check=True)
    for path in direct.rglob("fifo"):
        path.unlink()
    assert contents(bench.ws) == contents(direct)
    new = [row for row in rows if row.before is None]
    results = carry_out(Workspace(bench.ws), [row.inverse for row in new], Kept({}, bench.folder))
    assert not any(one.conflict for one in results), results
    assert not any(os.path.lexists(bench.ws / row.path) for row in new)


def test_a_path_that_would_change_its_type_and_that_somebody_changed_is_one_conflict(bench: Bench):
    (bench.ws / "a").write_text("old\n")
    layer = bench.layer()
    assert bench.run(layer, "rm a; mkdir a; echo x > b").returncode == 0
    rows = rows_of(layer.effects()[0])
    (bench.ws / "a").write_text("mine\n")
    assert sorted(carried_out(bench, layer, rows), key=lambda one: one.path) == [Result("a", CHANGED), Result("b", "")]
    assert (bench.ws / "a").read_text() == "mine\n" and (bench.ws / "b").read_text() == "x\n"


LARGE = """head -c 25000000 /dev/zero > new; chmod 755 new; head -c 3000000 /dev/urandom > changed
    rm gone; head -c 30000000 /dev/zero > grown"""


def test_large_files_are_made_changed_and_deleted(bench: Bench):
    for name, size in (("changed", 22_000_000), ("gone", 23_000_000), ("grown", 3)):
        (bench.ws / name).write_bytes(os.urandom(1) * size)
    (bench.ws / "grown").chmod(0o640)
    direct = bench.folder / "direct"
    shutil.copytree(bench.ws, direct, symlinks=True)
    layer = bench.layer()
    assert bench.run(layer, LARGE).returncode == 0
    subprocess.run(["sh", "-c", LARGE], cwd=direct, check=True)
    shutil.copy(layer.upper / "changed", direct / "changed")
    rows = rows_of(layer.effects()[0])
    assert not any(one.conflict for one in carried_out(bench, layer, rows))
    assert contents(bench.ws) == contents(direct)
    assert stat.S_IMODE((bench.ws / "grown").stat().st_mode) == 0o640, "the mode is the user's"


@pytest.mark.parametrize("change", ["ln {} {}.2", "echo >> {}", "mv {} {}.2; cp {}.2 {}"])
def test_a_large_file_that_is_not_as_it_was_listed_is_copied_or_refused(bench: Bench, change: str):
    layer = bench.layer()
    assert bench.run(layer, "head -c 2000000 /dev/urandom > large").returncode == 0
    rows = rows_of(layer.effects()[0])
    kept = (layer.upper / "large").read_bytes()
    subprocess.run(["sh", "-c", change.format(*["large"] * 4)], cwd=layer.upper, check=True)
    (result,) = carried_out(bench, layer, rows)
    if "echo" in change:
        assert "has changed since it was listed" in result.conflict and not (bench.ws / "large").exists()
    else:
        assert not result.conflict and (bench.ws / "large").read_bytes() == kept
        assert (bench.ws / "large").stat().st_nlink == 1
    assert not [name for name in os.listdir(bench.ws) if name.startswith(".")]


def test_a_file_that_a_process_holds_open_is_copied_and_not_moved(bench: Bench):
    layer = bench.layer()
    assert bench.run(layer, "echo listed > one; echo listed > two").returncode == 0
    rows = rows_of(layer.effects(reads=lambda path: path == "one")[0])
    with (layer.upper / "one").open("ab", 0) as one, (layer.upper / "two").open("ab", 0) as two:
        results = {one.path: one.conflict for one in carried_out(bench, layer, rows)}
        one.write(b"forged")
        two.write(b"forged")
    assert not results["one"] and (bench.ws / "one").read_text() == "listed\n"
    assert "has changed" in results["two"] and not (bench.ws / "two").exists()


def test_a_moved_file_has_neither_set_id_bits_nor_attributes(bench: Bench):
    layer = bench.layer()
    script = "cp /bin/true one; chmod 6777 one; touch two; chmod 000 two"
    assert bench.run(layer, script).returncode == 0
    os.setxattr(layer.upper / "one", "user.mine", b"x")
    rows = rows_of(layer.effects(reads=lambda _: False)[0])
    assert not any(one.conflict for one in carried_out(bench, layer, rows))
    umask = os.umask(0)
    os.umask(umask)
    assert [stat.S_IMODE((bench.ws / name).stat().st_mode) for name in ("one", "two")] == [
        0o777 & ~umask,
        0o666 & ~umask,
    ]
    assert not os.listxattr(bench.ws / "one")


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
    results = {one.path: one.conflict for one in carried_out(bench, layer, rows)}
    assert {path for path, why in results.items() if why} == {
        "src/one.txt", "made", "docs/read.md", "src/deep", "docs/link", "new",
    }  # fmt: skip
    assert (bench.ws / "src/one.txt").read_text() == (bench.ws / "made").read_text() == "theirs\n"
    assert (bench.ws / "docs/link").readlink() == Path("y")
    assert [path.name for path in (bench.ws / "src/deep").iterdir()] == ["new"]
    assert not os.access(bench.ws / "run.sh", os.X_OK)


class Cut(Exception):
    """The process ends here."""


class CutOff:
    """A source that ends the process after a number of files."""

    def __init__(self, source: Written, most: int) -> None:
        self._source, self._left = source, iter(range(most))

    def load(self, path: str, side: Side) -> bytes:
        self._count()
        return self._source.load(path, side)

    def make(self, path: str, side: Side, folder: int, name: str) -> None:
        self._count()
        self._source.make(path, side, folder, name)

    def _count(self) -> None:
        if next(self._left, None) is None:
            raise Cut


@pytest.mark.parametrize("cut", range(12))
def test_an_apply_that_was_cut_anywhere_is_finished_by_repeating_it(bench: Bench, cut: int):
    fill(bench.ws)
    layer = bench.layer()
    script = """rm -rf docs; echo now > docs; rm run.sh; mkdir -p run.sh/a; echo b > run.sh/a/b; rm -rf src/deep
    ln -s docs src/deep; echo x >> src/one.txt"""
    assert bench.run(layer, script).returncode == 0
    rows = rows_of(layer.effects()[0])
    with suppress(Cut), layer.written() as written:
        carry_out(Workspace(bench.ws), rows[: cut + 1], CutOff(written, cut % 4))
    results = carried_out(bench, layer, rows)
    assert not any(one.conflict for one in results), results
    assert (bench.ws / "docs").read_text() == "now\n" and (bench.ws / "run.sh/a/b").read_text() == "b\n"
    assert (bench.ws / "src/deep").readlink() == Path("docs")


def test_content_that_changes_after_the_list_is_not_applied(bench: Bench):
    fill(bench.ws)
    layer = bench.layer()
    assert bench.run(layer, "echo listed > made").returncode == 0
    rows = rows_of(layer.effects()[0])
    (layer.folder / "u/made").write_text("forged")
    (result,) = carried_out(bench, layer, rows)
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
    results = carried_out(bench, layer, rows)
    assert {one.path for one in results if one.conflict} == {"src/made", "src/one.txt"}, "there is nothing to delete"
    assert contents(outside) == before


def test_on_a_full_disk_a_file_stays_whole_and_is_changed_when_there_is_room():
    def act(folder: Path) -> None:
        mount("-t", "tmpfs", "-o", "size=24m", "none", str(folder))
        bench = Bench(folder)
        fill(bench.ws)
        for n in range(20):
            (bench.ws / f"file{n}").write_text("old\n")
        before = contents(bench.ws)
        layer = bench.layer()
        assert bench.run(layer, "for file in file*; do echo more >> $file; done; echo x > made").returncode == 0
        rows = rows_of(layer.effects()[0])
        filler = folder / "filler"
        with suppress(OSError), filler.open("wb", 0) as file:
            while True:
                file.write(bytes(4096))
        results = {one.path: one.conflict for one in carried_out(bench, layer, rows)}
        failed = {path for path, why in results.items() if why}
        assert failed and all("the disk is full" in results[path] for path in failed), results
        now = contents(bench.ws)
        assert [path for path in failed if now.get(path) != before.get(path)] == []
        assert not [path for path in bench.ws.rglob(".*") if path.is_file()], "nothing half written is left"
        filler.unlink()
        assert not any(one.conflict for one in carried_out(bench, layer, rows))
        assert all((bench.ws / f"file{n}").read_text() == "old\nmore\n" for n in range(20))
        bench.close()

    apart(act)
