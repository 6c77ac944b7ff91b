"""A run's journal, damaged as a file: no reader may fail with anything but a message for a person."""

from __future__ import annotations

import shutil
import tempfile
from functools import cache
from pathlib import Path

from fakes.in_process.journals import make_journal

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    ProposalOpened,
    RundryError,
    RunStarted,
    StepFinished,
    StepStarted,
    TextArrived,
    ToolCalled,
    ToolFinished,
)
from rundry.agent.state.facts.checkpoint import facts_of
from rundry.agent.state.reports.export_events import exported_lines
from rundry.agent.state.reports.journal_check import check_journal
from rundry.agent.state.reports.run_index import list_runs
from rundry.agent.state.reports.run_state import run_state

from ..target import Target

NAME = "20261121-014233-k3f9x.db"


@cache
def sound() -> bytes:
    """The bytes of a journal of a few steps."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        journal = make_journal(path)
        spec = journal.spec
        journal.append(
            RunStarted(
                run_id=spec.run_id,
                loop=spec.loop,
                task="x",
                workspace="/w",
                model="m",
                budget=spec.budget,
                journal=str(path),
            )
        )
        for step in range(1, 30):
            journal.append(StepStarted(number=step), step=step)
            journal.append(TextArrived(text="words " * 40), step=step)
            journal.append(ToolCalled(call_id=f"c{step}", tool="read_file", arguments={"path": "a"}), step=step)
            journal.append(ToolFinished(call_id=f"c{step}", tool="read_file", ok=True, result="x" * 200), step=step)
            journal.append(StepFinished(number=step, seconds=1.0), step=step)
        blob = journal.blobs.keep(b"x = 1\n" * 400)
        journal.append(ProposalOpened(proposal_id="p", tool="edit_file", path="a", digest="d", after=blob))
        journal.close()
        return path.read_bytes()


def journal(data: bytes) -> None:
    """Three bytes of place, one of what to do, one of how much, for each damage."""
    found = bytearray(sound())
    for at in range(0, min(len(data), 60) - 4, 5):
        place = int.from_bytes(data[at : at + 3], "big") % max(1, len(found))
        how, much = data[at + 3] % 4, data[at + 4]
        match how:
            case 0:
                found[place] ^= much or 1
            case 1:
                del found[place : place + much]
            case 2:
                found[place:place] = data[at : at + 5] * (1 + much // 5)
            case _:
                del found[max(0, len(found) - much * 64) :]
        if not found:
            break
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        path.write_bytes(found)
        look(path)
        assert sorted(each.name for each in Path(folder).iterdir() if each.suffix not in (".db-wal", ".db-shm"))


def look(path: Path) -> None:
    """All that a command does with a journal that it only reads."""
    checked = check_journal(path)
    assert all(finding.text for finding in checked.findings)
    list_runs(path.parent)
    try:
        opened = Journal.open(path)
    except RundryError:
        return
    try:
        for read in (lambda: opened.read(0, 5_000), lambda: facts_of(opened), lambda: run_state(opened)):
            try:
                read()
            except RundryError as error:
                assert str(error)
        try:
            list(exported_lines(opened))
        except RundryError as error:
            assert str(error)
    finally:
        opened.close()
    shutil.rmtree(path.with_suffix(".kept"), ignore_errors=True)


TARGETS = {
    "journal": Target(
        journal,
        (
            b"\0\0\x10\0\x01",
            b"\0\x20\0\x01\x20",
            b"\0\x08\0\x02\x80\0\x30\0\x03\x10",
            b"\0\0\x40\0\xff\0\x10\0\0\x07",
            b"\0\x01\x10\0\x80\0\x02\x10\0\x40\0\x04\x20\0\x20",
        ),
    )
}
