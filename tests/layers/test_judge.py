"""A check in the judge's layer sees exactly the files of the start, and the workspace stays as it is."""

from __future__ import annotations

import os
import random
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from rundry.agent.layers.judge_view_files import Past, put_past
from rundry.agent.layers.layer import Layer

from .conftest import AsUser, Bench

NAMES = ["a", "b", "two\nlines", "bad\udcffname", "-rf", ".git", "ü" * 100, "trusted.overlay.opaque", "...", "sp ace"]
LOOK = """import os, stat, sys
for top, folders, files in os.walk(b".", followlinks=False):
    for name in folders + files:
        path = os.path.join(top, name)
        at = os.lstat(path)
        kind, data = "folder", b""
        if stat.S_ISLNK(at.st_mode):
            kind, data = "link", os.readlink(path)
        elif stat.S_ISREG(at.st_mode):
            kind, data = "file", open(path, "rb").read()
        time = 0 if kind == "folder" else at.st_mtime_ns
        print(path, kind, data, bool(at.st_mode & 64) if kind == "file" else "", time)
"""


def seen(folder: Path, before: list[str] | None = None) -> list[str]:
    """Return all that can be seen in a folder, by a process in a layer if words before its command are given."""
    argv = [*(before or []), "sh", "-c", 'cd "$1" && exec python3 -c "$2"', "sh", str(folder), LOOK]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.splitlines())


def state(path: Path) -> Past | None:
    try:
        at = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(at.st_mode):
        return Past(type="link", data=os.fsencode(os.readlink(path)), mtime_ns=at.st_mtime_ns)
    if stat.S_ISDIR(at.st_mode):
        return Past(type="folder")
    runs = bool(at.st_mode & stat.S_IXUSR)
    return Past(data=path.read_bytes(), mtime_ns=at.st_mtime_ns, executable=runs)


def differences(start: Path, now: Path) -> dict[str, Past | None]:
    """Return what differs, as it was at the start. Links are not followed."""
    found = dict[str, Past | None]()
    for top in (start, now):
        for folder, names, files in os.walk(top):
            for name in names + files:
                path = str((Path(folder) / name).relative_to(top))
                was = None if _is_below_a_link(start, path) else state(start / path)
                if _is_below_a_link(now, path) or was != state(now / path):
                    found[path] = was
    return found


def _is_below_a_link(top: Path, path: str) -> bool:
    return any((top / above).is_symlink() for above in Path(path).parents)


def judge_layer(folder: Path, workspace: Path, past: dict[str, Past | None]) -> Layer:
    layer = Layer(folder, workspace)
    try:
        put_past(layer, past)
    except BaseException:
        layer.drop()
        raise
    return layer


def grow(folder: Path, chance: random.Random, depth: int = 0) -> None:
    """Make or change things at random."""
    for name in chance.sample(NAMES, 4):
        path = folder / name
        kind = chance.choice(["file", "file", "folder", "folder", "link", "nothing"])
        if path.is_dir() and not path.is_symlink():
            if kind == "folder" or chance.random() < 0.5:
                kind = "folder"
            else:
                shutil.rmtree(path)
        elif os.path.lexists(path):
            path.unlink()
        if kind == "folder":
            path.mkdir(exist_ok=True)
            if depth < 3:
                grow(path, chance, depth + 1)
        elif kind == "file":
            path.write_bytes(chance.randbytes(chance.choice([0, 3, 5_000])))
            path.chmod(chance.choice([0o644, 0o755, 0o600]))
            os.utime(path, ns=(1, chance.randrange(10**18)))
        elif kind == "link":
            path.symlink_to(chance.choice(["/etc", "..", "a", "missing"]))


def check_random(bench: Bench, seeds: range) -> None:
    for seed in seeds:
        chance = random.Random(seed)
        start = bench.folder / "start"
        for folder in (start, bench.ws):
            shutil.rmtree(folder, ignore_errors=True)
        start.mkdir()
        grow(start, chance)
        shutil.copytree(start, bench.ws, symlinks=True)
        grow(bench.ws, chance)
        before, wanted = seen(bench.ws), seen(start)
        layer = judge_layer(bench.folder / f"judge-{seed}", bench.ws, differences(start, bench.ws))
        layer.mount(bench.namespaces)
        assert seen(bench.ws, layer.words) == wanted, seed
        subprocess.run([*layer.words, "sh", "-c", f"cd '{bench.ws}' && rm -rf ./* && echo x > a"], check=True)
        layer.drop()
        assert seen(bench.ws) == before, seed
        assert not layer.folder.exists()


def test_a_check_sees_exactly_the_start(bench: Bench):
    check_random(bench, range(12))


def test_a_check_of_an_ordinary_user_sees_exactly_the_start(as_user: AsUser):
    def act(folder: Path) -> None:
        bench = Bench(folder)
        check_random(bench, range(100, 104))
        bench.close()

    as_user(act)


def test_rights_and_times_of_folders_stay_and_the_execute_bit_is_that_of_the_start(bench: Bench):
    (bench.ws / "src/deep").mkdir(parents=True)
    for name, mode in (("run", 0o640), ("plain", 0o751), ("deep/new", 0o600)):
        (bench.ws / "src" / name).write_text("now")
        (bench.ws / "src" / name).chmod(mode)
    for name, mode in (("src/deep", 0o500), ("src", 0o705)):
        (bench.ws / name).chmod(mode)
        os.utime(bench.ws / name, (5, 7))
    past = {
        "src/run": Past(data=b"was", mtime_ns=10**9, executable=True),
        "src/plain": Past(data=b"was", mtime_ns=2 * 10**9 + 5),
        "src/gone": Past(data=b"was", executable=True),
        "src/deep/new": None,
    }
    layer = judge_layer(bench.folder / "judge", bench.ws, past).mount(bench.namespaces)
    done = bench.run(layer, "stat -c '%a %Y %n' src src/*; ls src/deep; cat src/run src/gone")
    assert done.stdout == "705 7 src\n500 7 src/deep\n755 0 src/gone\n640 2 src/plain\n750 1 src/run\nwaswas"
    layer.drop()


@pytest.mark.parametrize(
    "past",
    [
        {"../out": Past()},
        {"/etc/passwd": None},
        {"a//b": Past()},
        {"a/./b": None},
        {"": None},
        {"nul\0": Past()},
        {"a": None, "a/b": Past()},
        {"a": Past(), "a/b": Past()},
        {"a": Past(type="link", data=b"/etc"), "a/passwd": Past(data=b"x")},
    ],
)
def test_paths_that_lead_out_or_contradict_each_other_are_refused_and_nothing_is_made(
    bench: Bench, past: dict[str, Past | None]
):
    with pytest.raises(ValueError, match=r"not a path below|cannot have been"):
        judge_layer(bench.folder / "judge", bench.ws, past)
    assert os.listdir(bench.folder) == ["workspace"] and os.listdir(bench.ws) == []


def test_a_link_that_the_run_made_is_not_followed_when_the_start_is_prepared(bench: Bench):
    outside = bench.folder / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    (bench.ws / "src").symlink_to(outside)
    past = {"src": Past(type="folder"), "src/one": Past(data=b"one"), "src/kept": None}
    layer = judge_layer(bench.folder / "judge", bench.ws, past).mount(bench.namespaces)
    assert bench.run(layer, "ls src; echo x > src/two; rm src/one").stdout == "one\n"
    layer.drop()
    assert os.listdir(outside) == ["kept"] and (bench.ws / "src").is_symlink()
