"""Temporary folders of processes that were killed are removed at the next start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Turn

KINDS = ("bundle", "commands", "edit", "index", "try")
HOLDER = """
import sys
from rundry.agent.host.own_temp import temp_folder
with temp_folder(sys.argv[1]) as folder:
    (folder / "content").write_text("x")
    print(folder.parent, flush=True)
    sys.stdin.read()
"""
SWEEP = "from rundry.agent.host.own_temp import sweep_temp; sweep_temp()"


@pytest.fixture
def temp(tmp_path: Path) -> dict[str, str]:
    """An environment whose temporary folder is empty."""
    folder = tmp_path / "temp"
    folder.mkdir()
    return {**os.environ, "TMPDIR": str(folder)}


def test_each_kind_of_folder_of_a_killed_process_is_removed_and_that_of_a_live_one_stays(temp: dict[str, str]):
    def start(kind: str) -> tuple[subprocess.Popen[str], Path]:
        argv = [sys.executable, "-P", "-c", HOLDER, kind]
        process = subprocess.Popen(argv, env=temp, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        return process, Path(process.stdout.readline().strip())

    killed, (alive, kept) = [start(kind) for kind in KINDS], start("try")
    for process, folder in killed:
        assert folder.is_dir()
        process.kill()
        process.communicate()
    unlocked, fresh = kept.with_name("rundry-index-halfmade"), kept.with_name("rundry-index-beingmade")
    foreign = kept.with_name("rundry-demo-mine")
    for folder in (unlocked, fresh, foreign):
        folder.mkdir()
    for folder in (unlocked, foreign):
        os.utime(folder, (1, 1))
    subprocess.run([sys.executable, "-P", "-c", SWEEP], env=temp, check=True)
    assert sorted(kept.parent.iterdir()) == sorted([kept, fresh, foreign])
    alive.communicate()
    assert alive.returncode == 0 and not kept.exists()


def test_a_run_leaves_no_temporary_folder(home: Home, tmp_path: Path, temp: dict[str, str]):
    work = tmp_path / "work"
    work.mkdir()
    with ScriptedServer([Turn(text="done")]) as server:
        model = ["--model", "fake", "--api-base", server.base_url]
        ran = home.run("run", "go", "--headless", *model, cwd=work, env={"TMPDIR": temp["TMPDIR"]})
    assert "Traceback" not in ran.stderr
    assert list(Path(temp["TMPDIR"]).iterdir()) == []
