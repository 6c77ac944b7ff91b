"""New and stored runs as sessions of an editor."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import msgspec
from acp.schema import ListSessionsResponse, SessionInfo

from rundry.agent import (
    Command,
    Journal,
    RunLine,
    RunSpec,
    Session,
    UserError,
    holder,
    new_run_id,
    refresh_proposals,
    refuse_missing_key,
    title_of,
)

from ..start.new_run import Setup
from ..start.survey import NO_MODEL
from ..text.show_text import one_line

_PAGE = 50
"""Sessions in one page of the list."""
_TITLE = 100
_ID = re.compile(r"[0-9a-z][0-9a-z-]{0,80}")


class EditorLink(Session):
    """A view that knows whether the runner has answered all its commands."""

    @cached_property
    def sent(self) -> set[int]:
        """Ids of the commands that this view sent."""
        return set()

    def put(self, command: Command) -> int:
        """Put a command into the inbox and return its id. Raises JournalError."""
        number = super().put(command)
        self.sent.add(number)
        return number


class EditorSetup(Setup):
    """The options of `rundry acp` in one workspace, for one run whose id the editor knows before it begins."""

    _has_default_gate = False

    def __init__(self, flags: Mapping[str, object], cwd: str) -> None:
        """Raises UserError for a folder, a flag or a config value that cannot be used."""
        if not Path(cwd).is_absolute():
            raise UserError(f"the working directory {cwd!r} of the session is not absolute: send an absolute path")
        super().__init__({**flags, "cwd": cwd}, headless=False)
        self.run_id = new_run_id(time.time())

    def require_model(self) -> None:
        """Raise RundryError if there is no model, or if its key is missing."""
        if self.model is None:
            raise UserError(NO_MODEL)
        refuse_missing_key(self.model, os.environ)

    def spec(self, task: str) -> RunSpec:
        """Return the spec of the run for this task. Raises RundryError."""
        self.require_model()
        return msgspec.structs.replace(super().spec(task), run_id=self.run_id, starts_children=False)


class NoSuchSession(UserError):
    """There is no stored run of this id: an editor may begin a new one."""


def attach(folder: Path, session_id: str, cwd: str) -> EditorLink:
    """Return the view of a stored run of this folder. Its open proposals are planned again if it has no runner.

    Raises RundryError if there is no such run, or if it works in another folder.
    """
    path = folder / f"{session_id}.db"
    if not _ID.fullmatch(session_id) or not path.is_file():
        raise NoSuchSession(f"there is no session {session_id[:80]!r}: session/list lists those that can be loaded")
    journal = Journal.open(path)
    spec = journal.spec
    journal.close()
    if str(Path(cwd).resolve()) not in (spec.workspace, spec.home):
        raise UserError(f"session {session_id} works in {spec.home}: open that folder to load it")
    if holder(path) is None:
        refresh_proposals(path)
    return EditorLink.attach(path)


def listed(lines: Sequence[RunLine], cwd: str | None, cursor: str | None) -> ListSessionsResponse:
    """Return one page of the runs, newest first. `cwd`: only those of this folder."""
    own = str(Path(cwd).resolve()) if cwd is not None else None
    shown = [line for line in lines if _can_be_loaded(line) and own in (None, line.workspace)]
    first = int(cursor) if cursor is not None and cursor.isdecimal() else 0
    page = shown[first : first + _PAGE]
    more = str(first + _PAGE) if len(shown) > first + _PAGE else None
    return ListSessionsResponse(sessions=[_info(line) for line in page], next_cursor=more)


def _can_be_loaded(line: RunLine) -> bool:
    return not line.is_unreadable and line.parent is None and bool(line.workspace)


def _info(line: RunLine) -> SessionInfo:
    return SessionInfo(
        session_id=line.run_id,
        cwd=line.workspace,
        title=one_line(title_of(line.task))[:_TITLE] or None,
        updated_at=datetime.fromtimestamp(line.started, UTC).isoformat(),
    )
