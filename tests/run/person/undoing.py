"""Undo in a run, and the tree of its workspace."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec
from fakes.in_process.driven import Driven
from fakes.turns import Turn, call, finish

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    FileChanged,
    Stamped,
    Stop,
    Undo,
    Undone,
)
from rundry.agent.run.commands.undo_after_end import handle_after_end


def sh(command: str) -> Turn:
    return call("run_command", command=command)


def write(path: str, content: str) -> Turn:
    return call("write_file", path=path, content=content)


async def take_back(run: Driven, *commands: Undo) -> list[Stamped]:
    """As a person does whose runner is gone, and who confirms each file; what the journal says of it."""
    view = Journal.open(run.path)
    before = view.last_seq()
    files = sorted({stamped.event.path for stamped in view.read() if isinstance(stamped.event, FileChanged)})
    for command in commands or (Undo(),):
        view.inbox.put(msgspec.structs.replace(command, confirmed=files))
    await handle_after_end(run.path)
    events = view.read(before)
    view.close()
    return events


def undone(events: list[Stamped]) -> Undone:
    (event,) = [stamped.event for stamped in events if isinstance(stamped.event, Undone)]
    return event


def refusals(events: list[Stamped]) -> list[str]:
    return [stamped.event.why for stamped in events if hasattr(stamped.event, "why")]


def tree(folder: Path) -> dict[str, tuple[str, int, bytes]]:
    """Everything below a folder: what it is, who may use it, what it holds."""
    found: dict[str, tuple[str, int, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        name = str(path.relative_to(folder))
        if stat.S_ISLNK(status.st_mode):
            found[name] = ("link", 0, os.fsencode(os.readlink(path)))
        elif stat.S_ISDIR(status.st_mode):
            found[name] = ("folder", 0, b"")
        else:
            found[name] = ("file", stat.S_IMODE(status.st_mode), path.read_bytes())
    return found


DONE = finish("all is well", "a.txt:1")
STOP = Stop(how="now")
