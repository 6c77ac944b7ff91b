"""Power cuts: what was not forced out to the disk is lost. `python -m crash --power 5` cuts more often."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import CallAdmitted, ProposalDecided, Stamped

from .case import Case
from .crashing import run_whole, sample
from .disk import Disk
from .kinds import KINDS
from .power import cut_and_resume
from .traced import STRACE, Op, ops_of, through

SEED = 4


def _is_traceable() -> bool:
    """strace is there, and this machine lets it trace."""
    return (
        STRACE is not None and subprocess.run([STRACE, "-qq", "-o", "/dev/null", "true"], check=False).returncode == 0
    )


pytestmark = [
    pytest.mark.skipif(not _is_traceable(), reason="needs strace, and the right to trace"),
    pytest.mark.timeout(900),
]


def on_disk(disk: Disk, folder: Path) -> list[Stamped]:
    """The events that a power cut now leaves."""
    folder.mkdir()
    for name, data in disk.after_cut().items():
        (folder / name).write_bytes(data)
    (path,) = folder.glob("*.db")
    journal = Journal.open(path)
    try:
        return journal.read()
    finally:
        journal.close()


def outside_effects(case: Case) -> Iterator[tuple[int, Op]]:
    """Requests to the model, and new contents of files in the workspace."""
    for number, op in enumerate(ops_of(case.root / "trace")):
        is_request = op.kind == "send" and b"/chat/completions" in op.data
        if is_request or (
            op.kind == "move" and op.to in (str(case.project / "NOTES.md"), str(case.project / "a/new.txt"))
        ):
            yield number, op


@pytest.mark.parametrize(("name", "files"), [("task", 2), ("approve", 1)])
def test_calls_and_approvals_are_on_the_disk_before_the_request_is_sent_and_the_file_is_written(
    name: str, files: int, tmp_path: Path
):
    case = Case.make(KINDS[name], tmp_path)
    try:
        case.prepare()
        there = {path: path.read_bytes() for path in case.home.runs.glob("*") if path.is_file()}
        requests, writes = len(case.server.requests), 0
        ran = case.run(*case.next_argv(), through=through(tmp_path / "trace"))
        assert ran.exit_code == 0, ran
        effects = dict(outside_effects(case))
        disk = Disk(case.home.runs, there)
        for number, op in enumerate(ops_of(tmp_path / "trace")):
            disk.apply(op)
            if number not in effects:
                continue
            events = [one.event for one in on_disk(disk, tmp_path / str(number))]
            requests += op.kind == "send"
            writes += op.kind == "move"
            approved = [e for e in events if isinstance(e, ProposalDecided) and e.decision != "reject"]
            assert sum(isinstance(e, CallAdmitted) for e in events) >= requests
            assert len(approved) >= writes
        assert (requests, writes) == (len(case.server.requests), files)
    finally:
        case.close()


@pytest.mark.long
@pytest.mark.parametrize(("name", "loses_all"), [("task", True), ("approve", False)])
def test_a_run_whose_power_is_cut_is_resumed_to_the_same_end(name: str, loses_all: bool, tmp_path: Path):
    whole = run_whole(KINDS[name], tmp_path / "whole")
    (at,) = sample(whole.points, random.Random(f"{SEED} {name}"), 1)
    chance = None if loses_all else random.Random(SEED)
    assert cut_and_resume(KINDS[name], tmp_path / "cut", at, whole, chance) == [], f"at {at}: {whole.points[at - 1]}"
