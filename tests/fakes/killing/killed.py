"""A runner in a process of its own that kills itself, as `kill -9` does, right after its n-th event was recorded.

As a program: `python -m fakes.killing.killed JOURNAL N`; with 0 it continues to its end and prints its reason.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]


def run_until(journal: Path, events: int, *, timeout: float = 60.0) -> str:
    """`killed`, or how the run ended."""
    done = subprocess.run(
        [sys.executable, "-m", "fakes.killing.killed", str(journal), str(events)],
        cwd=TESTS,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if done.returncode == -signal.SIGKILL:
        return "killed"
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def main() -> None:
    from rundry.agent.run.process.in_process import run_in_process

    journal, left = Path(sys.argv[1]), int(sys.argv[2])

    def see(_: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    outcome = asyncio.run(run_in_process(journal, on_event=see))
    print(outcome.reason.value)


if __name__ == "__main__":
    main()
