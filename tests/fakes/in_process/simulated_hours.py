"""Hours in milliseconds: a run on a manual clock that moves whenever the run sleeps."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

from rundry.agent.protocol import Outcome
from rundry.agent.run.process.parking import LOOK_SECONDS

from ..clock import ManualClock
from ..project import git
from .driven import Driven

_PLACES = ("HEAD", "config", "info/exclude", "ORIG_HEAD", "MERGE_HEAD", "MERGE_MSG")
"""Files of a git folder that a person can see."""


async def through_hours(driven: Driven, clock: ManualClock, **how: Any) -> Outcome:
    """Drive the run to its outcome; the clock ends each sleep immediately."""
    run = asyncio.ensure_future(driven.run(clock=clock, **how))
    seen = before = len(driven.of("sleeping"))
    try:
        slept = len(clock.slept)
        while not run.done():
            asked = asyncio.ensure_future(clock.until_asked(slept + 1))
            await asyncio.wait({run, asked}, return_when=asyncio.FIRST_COMPLETED)
            asked.cancel()
            slept, sleeps = len(clock.slept), driven.of("sleeping")
            woken = len(driven.of("woken"))
            if len(sleeps) > max(seen, woken) and _is_asleep(clock, len(sleeps) - before):
                seen = len(sleeps)
                clock.tick(sleeps[-1]["seconds"])
        return run.result()
    finally:
        run.cancel()


def _is_asleep(clock: ManualClock, times: int) -> bool:
    """Whether the run went to sleep that often; the vigil's short sleeps do not count."""
    return sum(seconds > LOOK_SECONDS for seconds in clock.slept) >= times


def make_repository(folder: Path, branch: str = "work") -> Path:
    """The folder's files, committed."""
    git(folder, "init", "-q", "-b", branch)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "First")
    return folder


def subjects(folder: Path, ref: str = "HEAD") -> list[str]:
    """Of the commits, newest first."""
    return git(folder, "log", "--format=%s", ref).splitlines()


def tree_of(folder: Path) -> dict[str, bytes]:
    """Every file of the folder with its bytes, but for git's own."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.parts
    }


def repository_of(folder: Path) -> dict[str, str]:
    """What a person can see of a repository: HEAD, refs, stash, status, what is staged, and what is in progress."""
    head = subprocess.run(["git", "symbolic-ref", "-q", "HEAD"], cwd=folder, capture_output=True, text=True).stdout
    git_folder = folder / git(folder, "rev-parse", "--git-dir").strip()
    found = {
        "head": head or git(folder, "rev-parse", "HEAD"),
        "refs": git(folder, "for-each-ref"),
        "stash": git(folder, "stash", "list", "--format=%H %gd %gs %gn %ct"),
        "status": git(folder, "status", "--porcelain", "-uall"),
        "index": git(folder, "ls-files", "--stage", "-v"),
        "submodules": git(
            folder, "submodule", "foreach", "--quiet", "git rev-parse HEAD && git symbolic-ref -q HEAD || :"
        ),
    }
    for place in _PLACES:
        found[place] = (git_folder / place).read_text() if (git_folder / place).exists() else "none"
    for place in ("rebase-merge", "sequencer"):
        found[place] = str(tree_of(git_folder / place)) if (git_folder / place).exists() else "none"
    return found


def applies(folder: Path, patch: bytes) -> bool:
    """Git takes that patch here."""
    return (
        subprocess.run(["git", "apply", "--check", "-"], cwd=folder, input=patch, capture_output=True).returncode == 0
    )
