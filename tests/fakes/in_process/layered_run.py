"""Runs whose commands write into layers: what a person decides about, and what is read of it."""

import asyncio
import contextlib
import subprocess
from pathlib import Path

from rundry.agent.protocol import Decide

IDENTITY = ("-c", "user.name=u", "-c", "user.email=u@example.org")


def decide(verdict, **more):
    """Decide on the next proposal; `entries` of it by their paths, of git by `git`."""
    entries = more.pop("entries", {})

    def decision(event):
        at = {one["path"] or one["kind"]: n for n, one in enumerate(event["effects"]["entries"])} if entries else {}
        chosen = {at[path]: choice for path, choice in entries.items()}
        return Decide(proposal_id=event["proposal_id"], digest=event["digest"], verdict=verdict, entries=chosen, **more)

    return decision


def effects_of(run):
    """What the only proposal about what a command would change has."""
    (effects,) = [e["effects"] for e in run.events if e["type"] == "proposal_opened" and e["effects"]]
    return effects


def shown(run):
    """Its entries by path; of git by its kind."""
    return {one["path"] or one["kind"]: one for one in effects_of(run)["entries"]}


def git(work, *words):
    return subprocess.run(["git", "-C", work, *words], check=True, capture_output=True, text=True).stdout


async def begun(word):
    """Wait until a process `sleep WORD` runs."""

    def runs():
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if path.read_bytes().split(b"\0")[:2] == [b"sleep", word.encode()]:
                    return True
        return False

    async with asyncio.timeout(20):
        while not await asyncio.to_thread(runs):
            await asyncio.sleep(0.02)
