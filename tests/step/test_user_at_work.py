"""A user works in the workspace while commands of a run write, delete and commit there: nothing of theirs is lost.

The user's own files, and what the user staged and committed, must be exactly as the user left them. A file that both
change may end as the command left it only if the command saw what the user had written.
"""

import asyncio
import hashlib
import os
import random
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel
from fakes.turns import call, say
from fakes.visible_folders import visible_folder

from rundry.agent.journal.journal import Journal
from rundry.agent.layers.effect_rows import decode_rows
from rundry.agent.sandbox.sandbox import Sandbox

SEEDS = int(os.environ.get("RUNDRY_SEEDS", "3"))
IDENTITY = ("-c", "user.name=u", "-c", "user.email=u@example.org")
GIT = f"git {' '.join(IDENTITY)}"
COMMANDS = (
    "echo {n} > c{n}.txt",
    "echo {n} >> shared.txt",
    "sed -i s/a/b/ shared.txt both/two.txt",
    "rm -rf both; mkdir both; echo {n} > both/one.txt",
    "rm -f c1.txt c2.txt shared.txt",
    "mv shared.txt moved{n}.txt; echo {n} > shared.txt",
    f"echo {{n}} > c{{n}}.txt; git add c{{n}}.txt; {GIT} commit -q -m c{{n}} -- c{{n}}.txt",
    f"git add -A both; {GIT} commit -q -m both -- both; git tag t{{n}}",
    "git stash -q; git stash pop -q",
    "mkdir -p deep/er; echo {n} > deep/er/{n}; chmod +x deep/er/{n}",
)


def git(work, *words, check=True):
    return subprocess.run(["git", "-C", work, *IDENTITY, *words], check=check, capture_output=True, text=True).stdout


def staged(work, path):
    """Return the blob that the index has for a path, or an empty text."""
    return "".join(git(work, "ls-files", "-s", "--", path).split()[1:2])


class User(threading.Thread):
    """Edits, saves by rename, deletes, stages and commits until the test ends."""

    def __init__(self, work: Path, seed: int) -> None:
        super().__init__(daemon=True)
        self.work, self.random, self.ended = work, random.Random(seed), threading.Event()
        self.files = dict[str, bytes | None]()
        """What the user left at each path that only they write."""
        self.shared = dict[str, bytes | None]()
        """What the user wrote last at each path that commands write, too."""
        self.staged, self.commits = dict[str, str](), list[str]()

    def run(self) -> None:
        number = 0
        while not self.ended.is_set():
            number += 1
            with suppress(FileNotFoundError, subprocess.CalledProcessError):
                self._act(number)
            time.sleep(self.random.uniform(0.005, 0.06))

    def _act(self, number: int) -> None:
        data = f"user {number} {self.random.random()}\n".encode()
        own = self.random.choice(("u1.txt", "u2.txt", "both/u3.txt", "deep/u4.txt"))
        path = self.work / own
        match self.random.randrange(7):
            case 0 | 1:
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(data)
                self.files[own] = data
            case 2:
                path.parent.mkdir(exist_ok=True)
                aside = path.with_name(f"{path.name}.new")
                aside.write_bytes(data)
                aside.rename(path)
                self.files[own] = data
            case 3:
                path.unlink()
                self.files[own] = None
            case 4:
                shared = self.work / "shared.txt"
                shared.write_bytes(data)
                self.shared["shared.txt"] = data
            case 5:
                git(self.work, "add", "--", own)
                self.staged[own] = staged(self.work, own)
            case _:
                git(self.work, "commit", "-q", "--allow-empty", "-m", f"user {number}", *self._paths())
                self.commits.append(git(self.work, "rev-parse", "HEAD").strip())

    def _paths(self) -> list[str]:
        return ["--only"] if self.random.random() < 0.5 else []


def chains(run):
    """Return for each path the digests (before, after) of what was accepted."""
    journal = Journal.open(run.path)
    rows = dict[str, list[tuple[str, str]]]()
    for event in run.events:
        if event["type"] == "effects_accepted":
            for row in decode_rows(journal.blobs.load(event["rows"])):
                pair = tuple(side.digest if side is not None else "" for side in (row.before, row.after))
                rows.setdefault(row.path, []).append(pair)
    journal.close()
    return rows


def leads_to(pairs, digest):
    """Return whether accepted effects began with a content."""
    return any(before == digest for before, _ in pairs)


def _slow(command, chosen):
    """Let a command begin and end a little later than its process."""
    return f"sleep {chosen.uniform(0, 0.1):.2f}; {command}; sleep {chosen.uniform(0, 0.1):.2f}"


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_nothing_of_a_user_who_works_at_the_same_time_is_lost(pytestconfig, seed):
    found = await Sandbox.detect(kinds=["bubblewrap"])
    if found.kind is None:
        pytest.skip(found.why_none)
    chosen = random.Random(seed)
    with tempfile.TemporaryDirectory(dir=visible_folder(pytestconfig.rootpath), prefix=".test-") as folder:
        work, runs = Path(folder) / "work", Path(folder) / "runs"
        for one in (work, runs, work / "both", work / "deep"):
            one.mkdir(mode=0o700)
        for name in ("shared.txt", "both/one.txt", "both/two.txt", "c1.txt"):
            (work / name).write_text("a\n")
        git(work, "init", "-q", "-b", "main")
        git(work, "add", ".")
        git(work, "commit", "-q", "-m", "start")
        scripts = [_slow(chosen.choice(COMMANDS).format(n=n), chosen) for n in range(1, 8)]
        run = Driven(runs, work, ScriptedModel([*(call("run_command", command=one) for one in scripts), say("done")]))
        user = User(work, seed)
        user.start()
        try:
            await run.run(within=120)
        finally:
            user.ended.set()
            await asyncio.to_thread(user.join)
        pairs = chains(run)
        for path, data in (user.files | user.shared).items():
            now = (work / path).read_bytes() if (work / path).exists() else None
            digest = "" if data is None else hashlib.sha256(data).hexdigest()
            # A command may delete the folder of a file that it saw.
            assert now == data or leads_to(pairs.get(path, []), digest), (path, run.story())
        stashes = any("stash" in script for script in scripts)
        for path, blob in () if stashes else user.staged.items():
            if path != "both/u3.txt":  # a command stages that folder
                assert staged(work, path) == blob, (path, run.story())
        for commit in user.commits:
            assert git(work, "branch", "--contains", commit).strip(), run.story()
        assert "missing" not in git(work, "fsck", "--full", check=False)
