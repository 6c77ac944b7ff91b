"""A command that writes too much is killed while it runs, and says which limit it reached."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import msgspec
import pytest

from rundry.agent.host.processes.processes import Finished, run_process
from rundry.agent.layers.watching import Limits, Watch, limits_at

from .conftest import AsUser, Bench, apart, mount

ENDLESS = "i=0; while :; do i=$((i+1)); : > f$i; done"
CHURN = "(while :; do : > t; rm t; done) & (while :; do : > s; rm s; done) & " + ENDLESS
DEEP = """import os, time
for _ in range(600):
    os.mkdir("a123456789")
    os.chdir("a123456789")
time.sleep(100)"""
LINKED = "head -c 3000000 /dev/zero > one; for i in 1 2 3 4 5 6; do ln one link$i; done; sleep 3"
UNSEEN = """import os, time
opened = os.open("unseen", os.O_CREAT | os.O_RDWR)
os.unlink("unseen")
while True:
    os.write(opened, b"x" * 65536)
    time.sleep(0.001)"""
WIDE = Limits(size=1 << 62, kept_size=0, kept_files=0)


def watched(bench: Bench, script: str, limits: Limits) -> tuple[str, Finished]:
    """Return the limit that was reached, and how the command ended. Nothing of it lives any more."""
    layer = bench.layer()
    watch = Watch(layer.uppers, limits)
    env = {"PATH": "/usr/bin:/bin"}

    async def run() -> Finished:
        argv = [*layer.words, "sh", "-c", f"cd '{bench.ws}'; {script}"]
        return await run_process(argv, cwd=Path("/"), env=env, timeout=100, on_start=watch.begin)

    done = asyncio.run(run())
    watch.end()
    layer.seal(5)
    assert os.listdir(bench.ws) == []
    layer.drop()
    assert not layer.folder.exists()
    return watch.reached, done


CASES = {
    "files": (ENDLESS, msgspec.structs.replace(WIDE, files=3_000), "it wrote more than 3,000 files"),
    "files in a folder that changes": (CHURN, msgspec.structs.replace(WIDE, files=500), "it wrote more than 500 files"),
    "bytes": ("yes > big", msgspec.structs.replace(WIDE, size=200_000_000), "it wrote more than 200 MB"),
    "holes": (
        "truncate -s 8T big; sleep 100",
        msgspec.structs.replace(WIDE, size=1 << 40),
        "it wrote more than 1100 GB",
    ),
    "depth": (f"exec python3 -c '{DEEP}'", WIDE, "it has folders below more than 4,000 bytes of path"),
    "folders and links": (
        "i=0; while :; do i=$((i+1)); mkdir d$i; ln -s x l$i; done",
        msgspec.structs.replace(WIDE, files=300),
        "it wrote more than 300 files",
    ),
}


@pytest.mark.parametrize(("script", "limits", "said"), CASES.values(), ids=CASES)
def test_a_command_is_killed_at_a_limit(bench: Bench, script: str, limits: Limits, said: str):
    reached, done = watched(bench, script, limits)
    assert reached.startswith(said)
    assert done.exit_code == 137 and not done.timed_out


def test_a_command_of_an_ordinary_user_is_killed_at_a_limit(as_user: AsUser):
    def act(folder: Path) -> None:
        bench = Bench(folder)
        for name in ("files", "bytes"):
            script, limits, said = CASES[name]
            reached, done = watched(bench, script, limits)
            assert reached.startswith(said) and done.exit_code == 137
        bench.close()

    as_user(act)


def test_a_command_within_the_limits_ends_by_itself(bench: Bench):
    reached, done = watched(bench, LINKED, msgspec.structs.replace(WIDE, size=4_000_000, files=7))
    assert (reached, done.exit_code) == ("", 0), "a file with several names counts once"


def test_a_command_is_killed_before_the_disk_is_full_even_by_a_file_without_a_name():
    def act(folder: Path) -> None:
        mount("-t", "tmpfs", "-o", "size=400m,nr_inodes=100000", "none", str(folder))
        bench = Bench(folder)
        limits = limits_at(folder)
        assert limits.kept_size == 20_000_000 * 1.048576 and 4_900 <= limits.kept_files <= 5_000
        assert 380_000_000 < limits.size < 400_000_000
        reached, done = watched(bench, f"exec python3 -c '{UNSEEN}'", limits)
        assert "MB are free on the disk, and 21.0 MB must stay free" in reached and done.exit_code == 137
        reached, _ = watched(bench, ENDLESS, limits)
        assert reached.startswith("the disk has room for ") and "it must stay free" in reached
        (folder / "full").write_bytes(bytes(390_000_000))
        nearly = limits_at(folder)
        assert nearly.kept_size == nearly.size or nearly.kept_size == nearly.size - 1, "half of what is free"
        assert watched(bench, "echo x > made", nearly)[0] == ""
        bench.close()

    apart(act)


def test_a_large_disk_keeps_one_gigabyte_and_a_layer_may_fill_the_rest(tmp_path: Path):
    limits = limits_at(tmp_path)
    if shutil.disk_usage(tmp_path).free < 40_000_000_000:
        pytest.skip("needs a disk with 40 GB free")
    assert (limits.files, limits.kept_size, limits.kept_files) == (200_000, 1_000_000_000, 20_000)
    assert limits.size > 38_000_000_000
