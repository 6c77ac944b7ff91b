"""Which files of a folder programs open is noted: those that existed, by the path in the folder."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
from pathlib import Path

import pytest

from rundry.agent.verdict.judge.opened import OpenedFiles

QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")

pytestmark = pytest.mark.skipif(not QUEUE.exists(), reason="only Linux has inotify")


def opened(root: Path, script: str) -> frozenset[str] | None:
    noted = OpenedFiles(root)
    try:
        subprocess.run(["sh", "-c", script], cwd=root, check=True)
    finally:
        found = noted.stop()
    assert noted.stop() == found
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in (
        "calc.py",
        "tests/deep/test_calc.py",
        ".git/HEAD",
        ".git/objects/ab/cd",
        "node_modules/first.js",
        "node_modules/left-pad/index.js",
        "sub/.venv/lib/six.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def test_files_that_are_read_written_or_executed_are_noted(root: Path):
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    assert opened(root, "cat calc.py; echo >> tests/deep/test_calc.py; ./run.sh") == {
        "calc.py",
        "tests/deep/test_calc.py",
        "run.sh",
    }


def test_looks_and_listings_do_not_open(root: Path):
    assert opened(root, "ls -lR . > /dev/null; test -e calc.py; find . -name calc.py > /dev/null") == frozenset()


def test_new_files_are_not_among_them(root: Path):
    script = (
        "echo 1 > new; cat new calc.py; mkdir out; echo 2 > out/x; cat out/x; cp calc.py .tmp; mv .tmp moved; cat moved"
    )
    assert opened(root, script) == {"calc.py"}


def test_objects_of_git_and_what_lies_deep_in_dependencies_are_not_watched(root: Path):
    found = opened(root, "find . -type f | xargs cat > /dev/null")
    assert found == {"calc.py", "tests/deep/test_calc.py", ".git/HEAD", "node_modules/first.js"}


def test_names_that_are_not_text_are_noted(root: Path):
    (root / os.fsdecode(b"caf\xe9")).write_text("x")
    assert opened(root, "cat caf*") == {os.fsdecode(b"caf\xe9")}


def test_if_reports_were_dropped_every_file_counts_as_opened(root: Path):
    noted = OpenedFiles(root)
    most = int(QUEUE.read_text())
    script = f"cd '{root}'; i=0; while [ $i -le {most} ]; do : < calc.py; : < .git/HEAD; i=$((i+1)); done"
    ctypes.PyDLL(None).system(os.fsencode(script))  # no other thread of Python runs meanwhile
    assert noted.stop() is None


def test_a_system_without_further_watches_means_everything(root: Path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        noted = OpenedFiles(root)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert noted.stop() is None


def test_a_folder_that_is_deleted_meanwhile_ends_nothing(root: Path):
    (root / "gone").mkdir()
    (root / "gone/x").write_text("")
    assert opened(root, "cat gone/x; rm -r gone; cat calc.py") == {"gone/x", "calc.py"}
    (root / "whole").mkdir()
    assert opened(root / "whole", "rmdir ../whole") == frozenset()
