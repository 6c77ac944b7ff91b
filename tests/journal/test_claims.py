from __future__ import annotations

import os
import platform
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from rundry.agent.journal.claim import claim, holder
from rundry.agent.protocol import JournalError, RunHeld

HOLDER = """
import subprocess, sys
from pathlib import Path
from rundry.agent.journal.claim import claim
from rundry.agent.protocol import RunHeld
try:
    held = claim(Path(sys.argv[1]))
except RunHeld as error:
    print(error, flush=True)
    sys.exit(3)
left = subprocess.Popen(["sleep", "60"]).pid if len(sys.argv) > 2 else 0
print("held", left, flush=True)
sys.stdin.readline()
held.release()
print("released", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "20261121-014233-k3f9x.db"


def test_a_second_process_is_refused_with_the_holders_pid(path: Path, child: Callable[..., object]) -> None:
    first = child(HOLDER, path)
    assert first.hear() == "held 0"
    second = child(HOLDER, path)
    said = second.hear()
    assert f"process {first.process.pid} on {platform.node()} since 20" in said
    assert "20261121-014233-k3f9x" in said and "rundry watch" in said
    assert second.process.wait(30) == 3
    with pytest.raises(RunHeld, match=f"process {first.process.pid} "):
        claim(path)
    held = holder(path)
    assert held is not None and held.pid == first.process.pid and held.since > 0
    first.tell()
    assert first.hear() == "released"
    assert holder(path) is None
    claim(path).release()


def test_a_killed_holder_gives_the_run_free_though_its_name_still_stands_there(
    path: Path, child: Callable[..., object]
) -> None:
    first = child(HOLDER, path)
    assert first.hear() == "held 0"
    first.kill()
    assert str(first.process.pid) in path.with_name(path.name + ".lock").read_text()
    assert holder(path) is None
    with claim(path):
        held = holder(path)
        assert held is not None and held.pid == os.getpid()


def test_what_a_holder_started_does_not_keep_the_run_after_it(path: Path, child: Callable[..., object]) -> None:
    first = child(HOLDER, path, "with a child")
    left = int(first.hear().split()[1])
    try:
        first.kill()
        with claim(path) as held:
            assert held.path == path
    finally:
        os.kill(left, signal.SIGKILL)


def test_a_process_cannot_claim_twice_and_release_can_be_repeated(path: Path) -> None:
    first = claim(path)
    with pytest.raises(RunHeld, match=f"process {os.getpid()} "):
        claim(path)
    first.release()
    first.release()
    with claim(path):
        assert holder(path) is not None
    assert holder(path) is None


def test_asking_who_holds_a_run_never_makes_a_claim_fail(path: Path) -> None:
    claim(path).release()
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            holder(path)

    asking = [threading.Thread(target=ask) for _ in range(2)]
    for thread in asking:
        thread.start()
    try:
        for _ in range(30):
            claim(path).release()
    finally:
        over.set()
        for thread in asking:
            thread.join()
    assert holder(path) is None


def test_a_run_that_nobody_ever_claimed_has_no_holder(path: Path) -> None:
    assert holder(path) is None
    assert not path.with_name(path.name + ".lock").exists()


def test_a_lock_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"cannot be locked: No such file"):
        claim(tmp_path / "gone" / "a.db")


def test_a_planted_link_in_place_of_the_lock_is_not_followed(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    path.with_name(path.name + ".lock").symlink_to(target)
    with pytest.raises(JournalError, match="cannot be locked"):
        claim(path)
    assert target.read_text() == "mine"
