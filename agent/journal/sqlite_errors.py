"""Errors of SQLite, explained to a person."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from ..protocol import JournalError, JournalUnwritable

BUSY_SECONDS = 5.0
"""How long a writer waits for another writer."""

Broken = (sqlite3.Error, UnicodeDecodeError)
"""Exceptions of SQLite. If the schema is damaged, the message may not be UTF-8, which Python cannot decode."""

_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_MISMATCH}
_OF_THE_DISK = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
"""SQLite's codes where it could not enlarge its index file or create a file, whatever the cause."""
_SMALLEST = 65_536
"""Bytes that SQLite needs for the index of its log, with some room."""


def explain(error: sqlite3.Error | UnicodeDecodeError, path: Path) -> JournalError:
    """Return the error for a person, in one line: what is wrong, and the fix."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    message = " ".join(str(error).split())
    if code == sqlite3.SQLITE_FULL or (code in _OF_THE_DISK and _is_full(path.parent)):
        return JournalUnwritable(f"the disk is full: {path} could not be written; free some space, then resume the run")
    if code == sqlite3.SQLITE_NOTADB:
        return JournalError(f"{path} is not a journal of rundry, or its beginning was destroyed")
    if isinstance(error, UnicodeDecodeError) or (code == 0 and message.startswith("Could not decode")):
        return JournalError(f"{path} is damaged (not UTF-8); restore it from a copy, nothing was changed in it")
    if code in _DAMAGE:
        return JournalError(f"{path} is damaged ({message}); restore it from a copy, nothing was changed in it")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return JournalError(f"{path} was locked by another program for {BUSY_SECONDS:.0f} seconds; try again")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return JournalError(f"{path} cannot be opened for writing ({message}): check its permissions and its folder's")
    if code == sqlite3.SQLITE_IOERR:
        return JournalError(f"{path} could not be read or written ({message}); what was recorded before is kept")
    return JournalError(f"{path}: {message}")


def _is_full(folder: Path) -> bool:
    """Return whether the file system of the folder has no room for another file."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _SMALLEST or (disk.f_files > 0 and disk.f_favail == 0)
