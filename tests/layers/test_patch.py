"""What a layer changed, written as a patch, is applied and taken back by plain git with the same bytes and modes."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as some

from rundry.agent.host.file_errors import StaleFile
from rundry.agent.layers.effect_rows import EffectRow
from rundry.agent.layers.layer_effects import Side
from rundry.agent.layers.layer_patch import not_in_patch, patch_of

from .conftest import Bench
from .test_effects import CASES, fill

Tree = dict[str, tuple[str, bytes]]
"""The mode as git writes it, and the bytes, of each path."""
NAMES = [
    "a", "b", "a b", "b/b", "x/y/z", 'quo"te', "back\\slash", "tab\tx", "two\nlines", "\u00e9", "bad\udcff", "end ",
    " front", "-R", "a/b/a", "d/dev/null", "\u202egpj", "x\r", "+++ b", "@@ -1 +1 @@", "\U0001f600", "n" * 255, "\x7f",
    "'", "$(x)", "a -> b",
]  # fmt: skip
TEXTS = [
    b"", b"\n", b"one\n", b"one", b"one\ntwo\nthree\n", b"one\ntwo\nthree", b"a\r\nb\r\n", b"a\r\nb", b"lone\rcr",
    b"\xff\xfe\n", b"\x00",
    b"bin\x00ary\n", bytes(range(256)) * 20, b"-- \n+++ x\n@@ -1 +1 @@\n", b" \n\n \n", b"\x1c\x85\x0c\n\xe2\x80\xa8\n",
    "".join(f"line {n}\n" for n in range(60)).encode(),
    "".join(f"line {n if n % 25 else -n}\n" for n in range(60)).encode(),
    b"\\ No newline at end of file\n", b"x" * 5000,
]  # fmt: skip


def sides(tree: Tree, path: str) -> Side | None:
    if path not in tree:
        return None
    mode, data = tree[path]
    kind = "link" if mode == "120000" else "file"
    return Side(type=kind, digest=hashlib.sha256(data).hexdigest(), size=len(data), executable=mode == "100755")


def rows_between(old: Tree, new: Tree) -> list[EffectRow]:
    return [EffectRow(path=path, before=sides(old, path), after=sides(new, path)) for path in sorted(old | new)]


def written(old: Tree, new: Tree, **more: str) -> bytes:
    rows = rows_between(old, new)
    return b"".join(patch_of(rows, lambda path, _: old[path][1], lambda path, _: new[path][1], **more))


def lay_out(folder: Path, tree: Tree) -> None:
    for path, (mode, data) in tree.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if mode == "120000":
            os.symlink(data, os.fsencode(place))
        else:
            place.write_bytes(data)
            place.chmod(0o755 if mode == "100755" else 0o644)


def read(folder: Path) -> Tree:
    found: Tree = {}
    for top, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for name in (*files, *(name for name in folders if Path(top, name).is_symlink())):
            place = Path(top, name)
            if place.is_symlink():
                found[str(place.relative_to(folder))] = "120000", os.fsencode(os.readlink(place))
            else:
                mode = "100755" if place.stat().st_mode & 0o100 else "100644"
                found[str(place.relative_to(folder))] = mode, place.read_bytes()
    return found


def git_apply(folder: Path, patch: bytes, *argv: str) -> None:
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", "apply", *argv], cwd=folder, env=env, input=patch, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode() + repr(patch[:2_000])


def check(folder: Path, old: Tree, new: Tree) -> None:
    lay_out(folder, old)
    patch = written(old, new)
    if not patch:
        assert old == new
        return
    git_apply(folder, patch)
    assert read(folder) == new
    git_apply(folder, patch, "-R")
    assert read(folder) == old


def is_free(tree: Tree, path: str) -> bool:
    return not any(other.startswith(f"{path}/") or path.startswith(f"{other}/") for other in tree)


@some.composite
def trees(draw: some.DrawFn) -> Tree:
    tree: Tree = {}
    for path in draw(some.lists(some.sampled_from(NAMES), max_size=8, unique=True)):
        mode = draw(some.sampled_from(["100644", "100644", "100755", "120000"]))
        if is_free(tree, path):
            data = draw(some.sampled_from(TEXTS) | some.binary(max_size=200))
            tree[path] = mode, b"t-" + data.replace(b"\0", b"0")[:100] if mode == "120000" else data
    return tree


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(trees(), trees())
def test_a_patch_of_any_two_trees_is_applied_and_taken_back_by_git(
    tmp_path_factory: pytest.TempPathFactory, old: Tree, new: Tree
):
    folder = tmp_path_factory.mktemp("tree")
    try:
        check(folder, old, new)
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("name", NAMES)
def test_each_name_is_added_changed_deleted_made_executable_and_made_a_link(tmp_path: Path, name: str):
    plain, other, runs = ("100644", b"x\n"), ("100644", b"y\n"), ("100755", b"x\n")
    states: list[tuple[str, bytes] | None] = [
        None,
        plain,
        other,
        runs,
        ("120000", b"no/where"),
        ("100644", b"\0bin"),
        ("100644", b""),
    ]
    for number, before in enumerate(states):
        for other_number, after in enumerate(states):
            if before != after:
                folder = tmp_path / f"{number}-{other_number}"
                folder.mkdir()
                check(folder, {name: before} if before else {}, {name: after} if after else {})


@pytest.mark.parametrize(
    "old", [{"p": ("100644", b"x\n")}, {"p": ("120000", b"q")}, {"p/a/b": ("100644", b"x\n"), "p/c": ("100755", b"\0")}]
)
@pytest.mark.parametrize(
    "new", [{"p": ("100644", b"x\n")}, {"p": ("120000", b"q")}, {"p/a/b": ("100644", b"x\n"), "p/c": ("100755", b"\0")}]
)
def test_a_path_changes_its_type(tmp_path: Path, old: Tree, new: Tree):
    check(tmp_path, old, new)


def test_a_large_text_with_many_changes_is_quick_and_right(tmp_path: Path):
    old = "".join(f"{n * 7 % 1_000}\n" for n in range(30_000)).encode()
    new = "".join(f"{n * 7 % 1_000 if n % 40 else -n}\n" for n in range(30_000)).encode()
    check(tmp_path, {"x": ("100644", old)}, {"x": ("100644", new), "y": ("100644", os.urandom(300_000))})


def test_paths_are_from_the_top_of_the_repository_and_binary_files_carry_its_hash(tmp_path: Path):
    old: Tree = {"b": ("100644", b"\0one"), "t": ("100644", b"x\n")}
    new: Tree = {"b": ("100644", b"\0two"), "t": ("100644", b"y\n")}
    subprocess.run(["git", "init", "-q", "--object-format=sha256", tmp_path], check=True)
    (tmp_path / "sub").mkdir()
    lay_out(tmp_path / "sub", old)
    git_apply(tmp_path / "sub", written(old, new, prefix="sub/", hash_name="sha256"))
    assert read(tmp_path / "sub") == new


def test_what_a_patch_cannot_hold_is_named_and_left_out(tmp_path: Path):
    folder, file, link = Side(type="folder"), sides({"x": ("100644", b"x")}, "x"), sides({"x": ("120000", b"x")}, "x")
    rows = [
        EffectRow(path="empty", before=None, after=folder), EffectRow(path="full", before=None, after=folder),
        EffectRow(path="full/x", before=None, after=file), EffectRow(path="gone", before=folder, after=None),
        EffectRow(path="sub/.git/config", before=None, after=file), EffectRow(path="a\\.GIT", before=None, after=file),
        EffectRow(path=".git:x", before=None, after=file), EffectRow(path="m/.gitmodules", before=None, after=link),
        EffectRow(path="was/", before=folder, after=file),
    ]  # fmt: skip
    rows[-1] = EffectRow(path="was", before=folder, after=file)
    patch = b"".join(patch_of(rows, lambda *_: b"x", lambda *_: b"x"))
    git_apply(tmp_path, patch)
    assert set(read(tmp_path)) == {"full/x", "was"}
    assert [line.partition(":")[0] for line in not_in_patch(rows)] == [
        ".git", "a\\.GIT", "empty", "gone", "m/.gitmodules", "sub/.git/config"
    ]  # fmt: skip


def test_content_that_is_not_as_listed_is_refused():
    rows = rows_between({}, {"x": ("100644", b"listed")})
    with pytest.raises(StaleFile, match="since it was listed"):
        list(patch_of(rows, lambda *_: b"", lambda *_: b"forged"))


def check_real(bench: Bench, script: str) -> None:
    fill(bench.ws)
    copy, direct = bench.folder / "copy", bench.folder / "direct"
    for place in (copy, direct):
        shutil.copytree(bench.ws, place, symlinks=True)
    layer = bench.layer()
    assert bench.run(layer, script).returncode == 0
    effects, _ = layer.effects()
    kept = read(bench.ws)
    with layer.written() as source:
        patch = b"".join(patch_of(effects, lambda path, _: kept[path][1], source.load))
    layer.drop()
    if not patch:
        return
    subprocess.run(["sh", "-c", script], cwd=direct, check=True)
    subprocess.run(["chmod", "-R", "u+rwX", "."], cwd=direct, check=True)
    for path in direct.rglob("fifo"):
        path.unlink()
    git_apply(copy, patch)
    assert read(copy) == read(direct)
    git_apply(copy, patch, "-R")
    assert read(copy) == kept


@pytest.mark.parametrize(("script", "expected"), CASES)
def test_the_patch_of_a_real_command_does_what_the_command_did(bench: Bench, script: str, expected: str):
    del expected
    check_real(bench, script)


def test_the_patch_of_real_commands_for_an_ordinary_user(as_user: Callable[[Callable[[Path], None]], None]):
    def act(folder: Path) -> None:
        for number, (script, _) in enumerate(CASES):
            own = folder / str(number)
            own.mkdir()
            bench = Bench(own)
            check_real(bench, script)
            bench.close()

    as_user(act)
