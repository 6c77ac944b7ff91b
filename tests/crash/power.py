"""Cut the power at a crash point: kill the process, and drop from its journal what was not forced out to the disk."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from rundry.agent.journal.integrity.journal_tail import read_tail, tail_path
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import CallAdmitted, Stamped

from .case import HEADLESS, KILLED, Case
from .crashing import Whole, differences
from .disk import Disk
from .kinds import Kind
from .traced import ops_of, through

_PARTS = ("", "-wal", ".tail")
"""The files of a journal; SQLite makes `-shm` again."""


def cut_and_resume(kind: Kind, root: Path, at: int, whole: Whole, chance: random.Random | None = None) -> list[str]:
    """What is wrong after a power cut at that point, a line each. `chance`: what was not forced out is lost in part."""
    case = Case.make(kind, root)
    try:
        log = root / "trace"
        case.prepare()
        there = {path: path.read_bytes() for path in case.home.runs.glob("*") if path.is_file()}
        ran = case.run(*case.next_argv(), at=at, through=through(log))
        if ran.exit_code != KILLED:  # this run had fewer points: time decides how many
            return [] if ran.exit_code in kind.exit_codes else [f"exit {ran.exit_code} without a crash: {ran.stderr}"]
        known = case.recorded()
        drop_unforced(case, Disk(case.home.runs, there), log, chance)
        return list(_wrong(case, known, whole))
    except (AssertionError, subprocess.TimeoutExpired) as error:
        return [str(error)[-2000:]]
    finally:
        case.close()
        shutil.rmtree(root, ignore_errors=True)


def drop_unforced(case: Case, disk: Disk, log: Path, chance: random.Random | None) -> None:
    """Put in place of the journal's files what the disk holds of them."""
    for op in ops_of(log):
        disk.apply(op)
    kept = disk.after_cut(chance)
    names = {path.name for path in case.home.runs.glob("*.db")} | {name for name in kept if name.endswith(".db")}
    for name in names:
        for part in (*_PARTS, "-shm"):
            (case.home.runs / f"{name}{part}").unlink(missing_ok=True)
        for part in _PARTS if name in kept else ():
            if (data := kept.get(name + part)) is not None:
                (case.home.runs / f"{name}{part}").write_bytes(data)


def _wrong(case: Case, known: list[Stamped], whole: Whole) -> Iterator[str]:
    before = case.recorded()
    if before != known[: len(before)]:
        yield "an event came out of the cut that was never recorded"
    admitted = sum(isinstance(one.event, CallAdmitted) for one in before)
    if len(case.server.requests) > admitted:
        yield f"{len(case.server.requests)} calls were sent, {admitted} of them are recorded"
    is_cut = bool(case.home.journals()) and _is_end_missing(case.journal)
    if case.home.journals():
        yield from _reported(case, is_cut=is_cut)
    case.finish(*(["--damaged"] if is_cut else []))
    yield from differences(case, whole, before, crashes=1)


def _reported(case: Case, *, is_cut: bool) -> Iterator[str]:
    """Whether `rundry check` and `rundry resume` report the missing end, and nothing else."""
    checked = case.home.run("check", case.journal.stem, cwd=case.project)
    if (checked.exit_code, "missing" in checked.stdout) != ((1, True) if is_cut else (0, False)):
        yield f"the newest events are {'missing' if is_cut else 'there'}: {checked}"
    if is_cut and (refused := case.run("resume", case.journal.stem, *HEADLESS)).exit_code != 2:
        yield f"it was resumed without a question: {refused}"


def _is_end_missing(path: Path) -> bool:
    """The record next to the journal knows of a newer event."""
    tail = read_tail(path) if tail_path(path).exists() else None
    journal = Journal.open(path)
    try:
        return tail is not None and tail.seq > journal.last_seq()
    finally:
        journal.close()
