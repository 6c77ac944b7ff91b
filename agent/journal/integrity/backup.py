"""Copy a journal, even while a runner writes to it, to a single file with all events."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from ...protocol import JournalError, UserError
from .. import database
from ..journal import Journal
from ..sqlite_errors import Broken, explain
from .damage import damage_of
from .journal_tail import TAIL_META, tail_for_backup


def backup(path: Path, target: Path | None) -> tuple[Path, str]:
    """Copy the journal; return the new file, and a description of damage in the journal and therefore in the copy.

    `target`: a new file, or a folder. None means the current folder. Raises UserError, JournalError; then there is no
    copy.
    """
    journal = Journal.open(path)
    try:
        place = _place(target or Path.cwd(), journal.spec.run_id)
        damage = damage_of(journal)
        _copy(journal, place)
    finally:
        journal.close()
    return place, damage.summary


def _place(target: Path, run_id: str) -> Path:
    place = (target.expanduser() / f"{run_id}.db" if target.is_dir() else target.expanduser()).absolute()
    try:
        os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
    except FileExistsError:
        raise UserError(f"{place} exists already: name another file for the backup") from None
    except OSError as error:
        raise UserError(f"{place} cannot be written: {error.strerror}. Name another file for the backup") from None
    return place


def _copy(journal: Journal, place: Path) -> None:
    try:
        place.chmod(0o600)
        tail = tail_for_backup(journal.path, journal.meta(TAIL_META))  # first: it never names an event after the copy
        with closing(sqlite3.connect(place, isolation_level=None)) as copy:
            journal.copy_to(copy)  # all pages in one step: a running run does not restart the copy
            database.mark_single_file(copy)
            if tail:
                copy.execute(database.SET_META, (TAIL_META, tail))
        with place.open("rb") as file:
            os.fsync(file.fileno())
    except (OSError, *Broken) as error:
        for name in (place, place.with_name(place.name + "-wal"), place.with_name(place.name + "-shm")):
            name.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise JournalError(f"{place} could not be written: {error.strerror}") from error
        raise explain(error, place) from error
