"""One mount for a whole unit of work: it shows what its user changes, and outlives its process."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from rundry.agent.host.file_errors import PathRefused
from rundry.agent.host.files.file_states import read_state
from rundry.agent.host.files.write_file import write_file
from rundry.agent.host.real_paths import real_path
from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.layers.layer import LayerMoment
from rundry.agent.layers.run_layers import Listed, RunLayers
from rundry.agent.layers.unit import Unit, UnitLost, left_out_of_patch
from rundry.agent.layers.unit_record import read_record, write_record

from .conftest import AsUser, Bench
from .gitting import sh


@pytest.fixture
def layers(bench: Bench) -> Iterator[RunLayers]:
    found = layers_of(bench)
    yield found
    found.close()


def layers_of(bench: Bench) -> RunLayers:
    return RunLayers(Workspace(bench.ws), bench.folder / "base", "run", bench.namespaces)


def run(unit: Unit, script: str) -> str:
    place = str(unit.outside(unit.root))
    argv = [*unit.layer.words, "sh", "-ec", f'cd "$1" && {{ {script}\n}}', "sh", place]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def view_of(unit: Unit) -> Workspace:
    return Workspace(unit.root, seen=unit.outside(unit.root))


def listed(layers: RunLayers, unit: Unit) -> Listed:
    return layers.listed(unit.layer, os.environ)


def changes(found: Listed) -> dict[str, str]:
    return {one.effect.path: one.effect.conflict for group in found.groups for one in group.entries}


def edit(view: Workspace, path: str, text: str) -> None:
    state = read_state(view.resolve(path), beneath=view.root)
    write_file(view, state, text.encode())


def test_edits_and_commands_meet_in_one_view(bench: Bench, layers: RunLayers):
    (bench.ws / "src").mkdir()
    (bench.ws / "src/a.txt").write_text("1\n")
    unit = Unit.begin(layers, "try")
    view = view_of(unit)
    edit(view, "src/a.txt", "2\n")
    edit(view, str(bench.ws / "src/new/b.txt"), "b\n")
    assert run(unit, "cat src/a.txt src/new/b.txt; echo 3 >> src/a.txt; mkdir made") == "2\nb\n"
    assert read_state(view.resolve("src/a.txt"), beneath=view.root).data == b"2\n3\n"
    assert (bench.ws / "src/a.txt").read_text() == "1\n"
    assert sorted(changes(listed(layers, unit))) == ["made", "src/a.txt", "src/new", "src/new/b.txt"]
    unit.drop()
    assert not unit.folder.exists()


def test_edits_and_commands_of_an_ordinary_user_meet_in_one_view(as_user: AsUser):
    def act(folder: Path) -> None:
        bench = Bench(folder)
        (bench.ws / "a.txt").write_text("1\n")
        layer = bench.layer()
        for text in ("2\n", "3\n"):  # the second time, the layer is mounted again
            view = Workspace(Path(f"/proc/self/fd/{layer.root}"), seen=bench.ws)
            edit(view, "a.txt", text)
            assert bench.run(layer, "cat a.txt; echo x > made.txt").stdout == text
            assert read_state(view.resolve("made.txt"), beneath=view.root).data == b"x\n"
            layer.seal(5)
            layer.mount_again(bench.namespaces, 5)
        assert [one.path for one in layer.effects()[0]] == ["a.txt", "made.txt"]
        assert (bench.ws / "a.txt").read_text() == "1\n"
        layer.drop()
        bench.close()

    as_user(act)


def test_a_view_is_mounted_again_after_a_change_of_the_user(bench: Bench, layers: RunLayers):
    for name in ("mine", "both", "theirs"):
        (bench.ws / name).write_text("1\n")
    unit = Unit.begin(layers, "stage")
    root = unit.root
    run(unit, "cat theirs both; echo stage > both; echo stage > mine")
    for name in ("both", "theirs"):
        (bench.ws / "aside").write_text("user\n")
        (bench.ws / "aside").rename(bench.ws / name)
    unit.note_change()
    assert unit.is_stale
    unit.mount_again()
    unit.is_watched = True
    assert not unit.is_stale
    assert unit.root == root
    assert (root / "theirs").read_text() == "user\n"
    assert run(unit, "cat theirs both mine; echo more >> theirs") == "user\nstage\nstage\n"
    found = changes(listed(layers, unit))
    assert found["mine"] == found["theirs"] == ""
    assert "changed" in found["both"], "the stage never saw what the user wrote there"
    unit.drop()


def test_nothing_can_be_written_in_a_unit_that_could_not_be_mounted_again(bench: Bench, layers: RunLayers):
    (bench.ws / "a").write_text("1\n")
    unit = Unit.begin(layers, "stage")
    unit.is_watched = True
    edit(view_of(unit), "a", "2\n")
    stamp = unit.folder / "stamp"
    stamp.unlink()
    stamp.mkdir()  # as a full disk would, it refuses the new stamp
    for _ in range(2):
        with pytest.raises(OSError, match="stamp"):
            unit.mount_again()
        assert unit.is_stale
        with pytest.raises(OSError, match="No such file"):
            (unit.root / "lost").write_text("x")
    stamp.rmdir()
    unit.mount_again()
    assert not unit.is_stale
    assert sorted(path.name for path in unit.root.iterdir()) == ["a"]
    assert (unit.root / "a").read_text() == "2\n"
    unit.drop()


def test_only_what_one_command_wrote_is_shown_after_it(bench: Bench, layers: RunLayers):
    (bench.ws / "a").write_text("1\n")
    unit = Unit.begin(layers, "stage")
    run(unit, "echo 2 > a; echo 1 > first")
    moment = unit.moment()
    run(unit, "echo 2 > second; rm first; touch -r second third; : >> a")
    assert {one.path for one in unit.effects_since(moment)} == {"second", "third"}
    run(unit, "rm a; rm -f third")
    assert {(one.path, one.kind) for one in unit.effects_since(moment)} == {("a", "deleted"), ("second", "added")}
    assert {one.path for one in unit.effects_since(LayerMoment(0))} == {"a", "second"}
    unit.drop()


def test_a_unit_that_was_left_is_mounted_by_another_process(bench: Bench, layers: RunLayers):
    (bench.ws / "a").write_text("1\n")
    (bench.ws / "b").write_text("1\n")
    unit = Unit.begin(layers, "stage", lasts=True)
    run(unit, "echo 2 > a; echo new > new; echo x > .rundry-0123456789abcdef.tmp")
    unit.leave()
    (bench.ws / "b").write_text("user\n")
    old = time.time() - 1_000
    os.utime(unit.folder, (old, old))
    assert layers.recover() == []
    again = Unit.left(layers, unit.folder)
    assert run(again, "cat a b new; echo 3 > b; ls -A") == "2\nuser\nnew\na\nb\nnew\n"
    assert changes(listed(layers, again)) == {"a": "", "b": "", "new": ""}
    again.drop()


def test_a_unit_whose_process_was_killed_is_whole_until_the_machine_restarts(bench: Bench, layers: RunLayers):
    unit = Unit.begin(layers, "stage", lasts=True)
    run(unit, "echo 1 > a")
    folder = unit.folder
    unit.close()  # as the kernel does when the process is killed
    record = read_record(folder)
    assert record is not None and record.is_whole
    write_record(folder, replace(record, boot="another"))
    with pytest.raises(UnitLost, match="restarted"):
        Unit.left(layers, folder)
    old = time.time() - 1_000
    os.utime(folder, (old, old))
    assert layers.recover() == [], "its own run says it"
    other = RunLayers(Workspace(bench.ws), bench.folder / "base", "other", bench.namespaces)
    (line,) = other.recover()
    assert "the stage of the run run is lost" in line
    assert not folder.exists()


def test_what_is_on_the_disk_stays_so_while_somebody_only_looks_at_it(bench: Bench, layers: RunLayers):
    unit = Unit.begin(layers, "stage", lasts=True)
    run(unit, "echo 1 > a")
    unit.leave()
    shown = Unit.left(layers, unit.folder, is_final=True)
    assert changes(listed(layers, shown)) == {"a": ""}
    record = read_record(unit.folder)
    assert record is not None and not record.boot
    shown.close()
    worked_on = Unit.left(layers, unit.folder)
    record = read_record(unit.folder)
    assert record is not None and record.boot, "what is written now is not on the disk"
    worked_on.drop()


def test_a_unit_that_does_not_last_goes_with_its_process(bench: Bench, layers: RunLayers):
    unit = Unit.begin(layers, "pass")
    old = time.time() - 1_000
    os.utime(unit.folder, (old, old))
    layers.recover()
    assert unit.folder.exists(), "it is mounted"
    unit.close()
    os.utime(unit.folder, (old, old))
    layers.recover()
    assert not unit.folder.exists()


def test_links_of_a_view_stay_in_it(bench: Bench, layers: RunLayers):
    (bench.ws / "src").mkdir()
    (bench.ws / "src/a").write_text("1\n")
    (bench.folder / "outside").write_text("secret\n")
    unit = Unit.begin(layers, "stage")
    run(unit, f"ln -s {bench.ws}/src abs; ln -s ../src src/up; ln -s ../outside out; ln -s loop loop; ln -s src rel")
    view = view_of(unit)
    for given in ("abs/a", "src/up/a", "rel/up/up/a", "src/../abs/a", f"{bench.ws}/abs/a"):
        assert view.resolve(given) == unit.root / "src/a", given
        assert view.relative(view.resolve(given)) == "src/a"
    for given in ("out", "../outside", "abs/../../outside", str(bench.folder / "outside"), "loop"):
        with pytest.raises(PathRefused) as refused:
            view.resolve(given)
        assert "/proc/" not in str(refused.value)
    assert view.resolve(".") == view.resolve(str(bench.ws)) == unit.root
    assert view.resolve(f"../{bench.ws.name}/src/a") == unit.root / "src/a"
    assert real_path(unit.root) == unit.root
    unit.drop()


def test_the_patch_of_a_unit_is_applied_by_plain_git(bench: Bench, layers: RunLayers):
    sh(bench.ws, "git init -q .; seq 9 > a; echo gone > gone")
    sh(bench.ws, "printf 'out/\\n' > .gitignore; git add .; git commit -qm 1")
    unit = Unit.begin(layers, "stage")
    run(unit, "sed -i s/5/five/ a; rm gone; mkdir out; echo x > out/x; echo '#!/bin/sh' > run; chmod +x run")
    found = listed(layers, unit)
    patch = b"".join(unit.patch(found))
    assert left_out_of_patch(found) == ["2 of the kind ignored new"]
    unit.drop()
    subprocess.run(["git", "apply", "-"], input=patch, cwd=bench.ws, check=True)
    assert (bench.ws / "a").read_text() == "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"
    assert not (bench.ws / "gone").exists()
    assert os.access(bench.ws / "run", os.X_OK)


def test_the_index_is_compared_with_what_it_was_at_the_start_of_a_unit(bench: Bench, layers: RunLayers):
    sh(bench.ws, "git init -q .; echo 1 > a; echo 1 > b; git add .; git commit -qm 1")
    unit = Unit.begin(layers, "stage", lasts=True)
    run(unit, "echo 2 > a; git -c safe.directory='*' add a")
    unit.leave()
    sh(bench.ws, "echo 2 > b; git add b")
    again = Unit.left(layers, unit.folder)
    found = layers.listed(again.layer, os.environ, lambda: again.layer.words)
    (repository,) = found.git
    assert [getattr(row, "path", None) for row in repository.rows] == [None, b"a"], found
    again.drop()


COPIED_UP = "ln a second; rm second; chmod +x b; chmod -x b; exec 3<>deep/c; exec 3>&-; : >> d; touch e"
"""Nothing of it is an effect, and the unit has a file of its own for each."""


@pytest.fixture(params=["layer", "copy"])
def units(request: pytest.FixtureRequest, bench: Bench) -> Iterator[RunLayers]:
    found = layers_of(bench)
    found.has_copies = request.param == "copy"
    yield found
    found.close()


def run_in(unit: Unit, script: str) -> None:
    """Run a command and look at what it changed, as a step does."""
    if unit.layer.copy is None:
        run(unit, script)
    else:
        subprocess.run(["sh", "-ec", script], cwd=unit.layer.copy, check=True)
    unit.note_copied_up()


def test_a_unit_shows_what_the_user_makes_of_a_file_that_a_command_only_copied_up(bench: Bench, units: RunLayers):
    (bench.ws / "deep").mkdir()
    for name in ("a", "b", "deep/c", "d", "e", "written", "deep/put-back"):
        (bench.ws / name).write_text("1\n")
        os.utime(bench.ws / name, (1, 1))
    unit = Unit.begin(units, "pass")
    run_in(unit, f"{COPIED_UP}; echo 2 > written; cp -p written x; rm deep/put-back")
    run_in(unit, "echo 1 > deep/put-back; touch -d @1 deep/put-back")
    for name in ("a", "b", "deep/c", "d", "e", "written"):
        (bench.ws / name).write_text("the user's\n")
    unit.mount_again()
    shown = {name: (unit.root / name).read_text() for name in ("a", "b", "deep/c", "d", "written")}
    assert shown == {**dict.fromkeys(("a", "b", "deep/c", "d"), "the user's\n"), "written": "2\n"}
    found = changes(listed(units, unit))
    assert {path for path, conflict in found.items() if conflict} == {"e", "written"}, "`touch` writes a time"
    assert found.keys() == {"e", "written", "x"}
    unit.drop()


def test_a_copied_up_file_that_was_written_later_or_lies_in_a_replaced_folder_stays(bench: Bench, units: RunLayers):
    (bench.ws / "deep").mkdir()
    for name in ("a", "deep/b"):
        (bench.ws / name).write_text("1\n")
        os.utime(bench.ws / name, (1, 1))
    unit = Unit.begin(units, "pass")
    run_in(unit, "chmod +x a; chmod -x a; cp -a deep other; rm -r deep; mv other deep")
    run(unit, "echo 2 > a; touch -d @1 a") if unit.layer.copy is None else run_in(unit, "echo 2 > a; touch -d @1 a")
    (bench.ws / "a").write_text("the user's\n")
    unit.mount_again()
    assert (unit.root / "a").read_text() == "2\n" and (unit.root / "deep/b").read_text() == "1\n"
    assert changes(listed(units, unit)) == {"a": "it changed while the command ran"}
    unit.drop()
