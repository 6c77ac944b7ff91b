"""A runner that is resumed with an approval and kills itself, as `kill -9` does, around the write.

As a program: `python -m fakes.killing.killed_at_write JOURNAL MOMENT`. MOMENT is `approved` (the decision is recorded,
nothing is written), `written` (the file is written, nothing of it is recorded) or `recorded` (the change is recorded,
the call has no result yet).
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]
MOMENTS = ("approved", "written", "recorded")


def approve_and_die(journal: Path, moment: str, *, timeout: float = 60.0) -> None:
    """Approve the open proposal of that run, and die at that moment."""
    done = subprocess.run(
        [sys.executable, "-m", "fakes.killing.killed_at_write", str(journal), moment],
        cwd=TESTS,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def main() -> None:
    from rundry.agent.journal.journal import Journal
    from rundry.agent.protocol import Decide, FileChanged, ProposalDecided, Stamped
    from rundry.agent.run.client.start_request import ResumeChanges
    from rundry.agent.run.process.in_process import run_in_process
    from rundry.agent.state.reports.run_state import run_state

    path, moment = Path(sys.argv[1]), sys.argv[2]
    journal = Journal.open(path)
    (opened,) = run_state(journal).decidable_without_runner().values()
    after = journal.blobs.load(opened.after or "")
    target = Path(journal.spec.workspace) / (opened.path or "")
    journal.close()
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)

    def die_once_written() -> None:
        while target.read_bytes() != after:
            time.sleep(0.001)
        _die()

    def see(stamped: Stamped) -> None:
        match stamped.event, moment:
            case (ProposalDecided(), "approved") | (FileChanged(), "recorded"):
                _die()
            case ProposalDecided(), "written":
                other.execute("BEGIN IMMEDIATE")  # from now on the journal takes in nothing
                threading.Thread(target=die_once_written, daemon=True).start()
            case _:
                pass

    decision = Decide(proposal_id=opened.proposal_id, digest=opened.digest, verdict="approve", reason="well done")
    asyncio.run(run_in_process(path, on_event=see, changes=ResumeChanges(decision=decision)))


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
