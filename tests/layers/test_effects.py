"""What a command in a layer did is listed, and nothing of it is in the workspace."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.layers.apply import carry_out
from rundry.agent.layers.effect_rows import EffectRow
from rundry.agent.layers.layer import LayerMoment
from rundry.agent.layers.layer_effects import TooMuch

from .conftest import Bench

PROJECT = """
mkdir -p src/deep/er docs && echo one > src/one.txt && echo two > src/deep/two.txt && echo three > src/deep/er/three.txt
echo old > docs/read.md && ln -s ../src/one.txt docs/link && printf '#!/bin/sh\\n' > run.sh && chmod 755 run.sh
"""


def fill(ws: Path) -> None:
    subprocess.run(["sh", "-ec", PROJECT], cwd=ws, check=True)


def tree(folder: Path) -> dict[str, tuple[int, int, object]]:
    found = dict[str, tuple[int, int, object]]()
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        found[str(path.relative_to(folder))] = (stat.S_IFMT(status.st_mode), status.st_mode & 0o777, content)
    return found


CASES: list[tuple[str, str]] = [
    ("echo new > made.txt", "+made.txt"),
    ("echo more >> src/one.txt", "~src/one.txt"),
    ("rm src/one.txt", "-src/one.txt"),
    ("rm -rf src/deep", "-src/deep -src/deep/er -src/deep/er/three.txt -src/deep/two.txt"),
    ("rm -rf src/deep; mkdir src/deep; echo two > src/deep/two.txt", "-src/deep/er -src/deep/er/three.txt"),
    ("chmod -x run.sh", "~run.sh"),
    ("chmod 600 src/one.txt; touch -d 2001-01-01 docs/read.md; chmod 700 src", ""),
    ("exec 3<> src/one.txt; sed -i s/nothing/here/ docs/read.md", ""),
    ("ln -sf ../src/deep/two.txt docs/link", "~docs/link"),
    ("rm docs/link; mkdir docs/link; echo x > docs/link/x", "~docs/link +docs/link/x"),
    ("rm -rf docs; echo now > docs", "~docs -docs/link -docs/read.md"),
    ("mv src/one.txt src/uno.txt", "-src/one.txt +src/uno.txt"),
    ("mkdir -p a/b; mkfifo a/fifo", "+a +a/b"),
    ("mkdir shut; echo x > shut/x; chmod 000 shut", "+shut +shut/x"),
    ("echo x > secret; chmod 000 secret; echo y >> src/one.txt; chmod 000 src/one.txt", "+secret ~src/one.txt"),
    ("""printf x > "$(printf 'bad\\377name')"; printf x > "$(printf 'two\\nlines')" """, "+bad\udcffname +two\nlines"),
]
"""A command, and its effects: added, changed, deleted."""


def check(bench: Bench, script: str, expected: str) -> None:
    fill(bench.ws)
    before = tree(bench.ws)
    layer = bench.layer()
    done = bench.run(layer, script)
    assert done.returncode == 0, done.stderr
    effects, left_out = layer.effects()
    marks = {"added": "+", "changed": "~", "deleted": "-"}
    wanted = sorted(expected.split(" ") if expected else [], key=lambda one: one[1:])
    assert [f"{marks[one.kind]}{one.path}" for one in effects] == wanted
    assert not any(one.conflict for one in effects), effects
    assert tree(bench.ws) == before
    assert bool(left_out) == ("fifo" in script)
    layer.drop()
    assert not layer.folder.exists()


@pytest.mark.parametrize(("script", "expected"), CASES)
def test_effects_are_differences(bench: Bench, script: str, expected: str):
    check(bench, script, expected)


def test_effects_are_differences_for_an_ordinary_user(as_user: Callable[[Callable[[Path], None]], None]):
    def act(folder: Path) -> None:
        for number, (script, expected) in enumerate(CASES):
            own = folder / str(number)
            own.mkdir()
            bench = Bench(own)
            check(bench, script, expected)
            bench.close()

    as_user(act)


@pytest.mark.parametrize("ticks", [0, 1])
def test_a_change_at_the_moment_of_the_mount_counts_as_one_that_came_after_it(bench: Bench, ticks: int):
    fill(bench.ws)
    layer = bench.layer()
    assert bench.run(layer, "echo mine >> src/one.txt").returncode == 0
    layer.stamp_ns = (bench.ws / "src/one.txt").stat().st_ctime_ns + ticks
    (effect,) = layer.effects()[0]
    assert effect.conflict == ("" if ticks else "it changed while the command ran")


@pytest.mark.parametrize("ticks", [0, 1])
def test_what_was_written_at_the_moment_of_a_mark_came_after_it(bench: Bench, ticks: int):
    layer = bench.layer()
    assert bench.run(layer, "echo mine > made").returncode == 0
    moment = LayerMoment((layer.upper / "made").stat().st_ctime_ns + ticks)
    assert [one.path for one in layer.effects(since=moment)[0]] == ([] if ticks else ["made"])


@pytest.mark.parametrize(
    ("command", "user", "conflicts"),
    [
        ("echo mine >> src/one.txt", "rm src/one.txt", {"src/one.txt"}),
        ("echo mine > src/one.txt", "mv src/one.txt src/theirs.txt", {"src/one.txt"}),
        ("echo mine >> src/deep/two.txt", "rm -r src/deep", {"src/deep/two.txt"}),
        ("mv src/one.txt src/uno.txt; echo x >> src/uno.txt", "echo theirs > src/other.txt", set[str]()),
        ("mv src/one.txt uno; mv src/deep/two.txt src/one.txt", "rm docs/link; echo > src/other", set[str]()),
        ("echo mine > src/made; cp -p src/one.txt src/copy", "rm src/deep/two.txt; echo > src/other", set[str]()),
    ],
)
def test_what_the_user_deleted_or_moved_after_the_command_had_changed_it_does_not_come_back(
    bench: Bench, command: str, user: str, conflicts: set[str]
):
    fill(bench.ws)
    layer = bench.layer()
    assert bench.run(layer, command).returncode == 0
    subprocess.run(["sh", "-ec", user], cwd=bench.ws, check=True)
    assert {one.path for one in layer.effects()[0] if one.conflict} == conflicts


def meanwhile(bench: Bench, command: str, user: str) -> dict[str, str]:
    """Return the conflicts by path, if the user does something while the command runs."""
    fill(bench.ws)
    layer = bench.layer()
    bench.run(layer, "cat src/deep/er/three.txt >/dev/null; ls src docs >/dev/null")
    subprocess.run(["sh", "-ec", user], cwd=bench.ws, check=True)
    done = bench.run(layer, command)
    assert done.returncode == 0, done.stderr
    return {one.path: one.conflict for one in layer.effects()[0] if one.conflict}


@pytest.mark.parametrize(
    ("command", "user", "conflicts"),
    [
        ("echo mine >> src/one.txt", "echo theirs >> src/one.txt", ["src/one.txt"]),
        ("echo mine >> src/one.txt", "echo theirs > .new; mv .new src/one.txt", ["src/one.txt"]),
        ("echo mine >> src/one.txt", "echo theirs > src/other.txt; chmod 600 docs/read.md", []),
        ("echo mine >> src/one.txt", "rm src/one.txt", []),
        ("rm src/one.txt", "echo theirs >> src/one.txt", ["src/one.txt"]),
        ("rm -rf src/deep", "echo theirs > src/deep/new.txt", ["src/deep/new.txt", "src/deep/two.txt"]),
        (
            "rm -rf src/deep",
            "mkdir -p ../n && touch -d 2001-01-01 ../n/x && mv ../n src/deep/n",
            ["src/deep/n", "src/deep/n/x", "src/deep/two.txt"],
        ),
        (
            "echo mine >> src/deep/two.txt",
            "mv src/deep .. && mkdir src/deep && echo b > src/deep/two.txt",
            ["src/deep/two.txt"],
        ),
        ("echo mine > made.txt", "echo theirs > made.txt", ["made.txt"]),
        ("echo mine > src/deep/er/made", "mv src/deep/er ../er && mkdir src/deep/er", ["src/deep/er/made"]),
    ],
)  # fmt: skip
def test_what_the_user_changed_meanwhile_is_a_conflict(bench: Bench, command: str, user: str, conflicts: list[str]):
    found = meanwhile(bench, command, user)
    assert set(conflicts) <= set(found), found
    assert not set(found) - set(conflicts) - {"src/deep", "src/deep/er", "src/deep/er/three.txt"}, found


def test_what_a_command_plants_for_the_reader_is_only_an_effect(bench: Bench):
    fill(bench.ws)
    (bench.ws / "data").write_text("x")
    layer = bench.layer()
    marks = """
for path, name, value in (
    ("src", "user.overlay.opaque", b"y"),
    ("data", "user.overlay.metacopy", b""),
    ("data", "user.overlay.redirect", b"/etc/passwd"),
):
    os.setxattr(path, name, value)
"""
    plant = f"""rm -rf docs; ln -s /etc docs; ln -s ../../.. up; mkdir opaque; python3 -c 'import os{marks}'
    mknod white c 0 0 2>/dev/null; ln src/one.txt twin; chmod 4755 run.sh; true"""
    done = bench.run(layer, plant)
    assert done.returncode == 0, done.stderr
    effects = {one.path: one for one in layer.effects()[0]}
    assert set(effects) == {"docs", "docs/link", "docs/read.md", "up", "opaque", "twin"}, sorted(effects)
    assert effects["docs"].after is not None and effects["docs"].after.type == "link"


def test_a_tree_that_is_too_deep_is_refused(bench: Bench):
    layer = bench.layer()
    deep = 'python3 -c \'import os\nfor _ in range(600): os.mkdir("a123456789"); os.chdir("a123456789")\''
    assert bench.run(layer, deep).returncode == 0
    with pytest.raises(TooMuch, match="4,000 bytes of path"):
        layer.effects()
    layer.drop()
    assert not layer.folder.exists()


def test_5_000_levels_are_refused_and_removed(bench: Bench):
    layer = bench.layer()
    deep = 'python3 -c \'import os\nfor _ in range(5000): os.mkdir("d"); os.chdir("d")\nopen("f", "w").close()\''
    assert bench.run(layer, deep).returncode == 0
    with pytest.raises(TooMuch, match="4,000 bytes of path"):
        layer.effects()
    layer.drop()
    assert not layer.folder.exists()


def test_a_file_that_the_user_moved_away_while_a_command_rewrote_it_stays(bench: Bench):
    fill(bench.ws)
    layer = bench.layer()
    assert bench.run(layer, "sed -i s/one/uno/ src/one.txt").returncode == 0
    (bench.ws / "src/one.txt").rename(bench.ws / "src/mine.txt")
    rows = [
        EffectRow(path=one.path, before=one.before, after=one.after) for one in layer.effects()[0] if not one.conflict
    ]
    with layer.written() as written:
        carry_out(Workspace(bench.ws), rows, written)
    assert (bench.ws / "src/mine.txt").read_text() == "one\n"
    layer.drop()


def test_rights_of_the_users_own_files_are_never_changed(as_user: Callable[[Callable[[Path], None]], None]):
    def act(folder: Path) -> None:
        bench = Bench(folder)
        fill(bench.ws)
        (bench.ws / "src/deep").chmod(0)
        (bench.ws / "docs/read.md").chmod(0)
        layer = bench.layer()
        assert bench.run(layer, "chmod 700 src/deep; rm -rf src/deep; rm -f docs/read.md").returncode == 0
        effects, _ = layer.effects()
        assert stat.S_IMODE((bench.ws / "src/deep").stat().st_mode) == 0
        assert stat.S_IMODE((bench.ws / "docs/read.md").stat().st_mode) == 0
        assert {one.path: one.conflict for one in effects} == {"src/deep": "", "docs/read.md": "it cannot be read"}
        rows = [EffectRow(path=one.path, before=one.before, after=one.after) for one in effects]
        with layer.written() as written:
            results = carry_out(Workspace(bench.ws), rows, written)
        assert all(one.conflict for one in results), "nothing is deleted unseen"
        bench.close()

    as_user(act)


@pytest.mark.parametrize("users_act", ["", "deletes", "moves"])
def test_a_hard_link_in_a_new_folder_is_a_conflict_only_if_the_user_took_its_file_away(bench: Bench, users_act: str):
    fill(bench.ws)
    layer = bench.layer()
    assert bench.run(layer, "mkdir new; ln src/one.txt new/link").returncode == 0
    if users_act == "deletes":
        (bench.ws / "src/one.txt").unlink()
    elif users_act == "moves":
        (bench.ws / "src/one.txt").rename(bench.ws / "src/away.txt")
    found = {one.path: one.conflict for one in layer.effects()[0]}
    assert found["new/link"] == ("it was deleted or moved while the command ran" if users_act else "")
