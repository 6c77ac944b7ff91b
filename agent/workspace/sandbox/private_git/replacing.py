"""Replace a file of the user's git folder atomically. If rundry is killed, resuming the run removes temporary files."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ....system.crash import crash_point
from ...files.beneath import folder_of, rename_new

if TYPE_CHECKING:
    from ...leftovers.record import Leftovers

_NOTHING = b"rundry\n"
"""Content of the lock of a file that is removed. An empty lock file could be one that git is making."""


def replace_file(place: Path, data: bytes, leftovers: Leftovers) -> None:
    """Replace the file without git's lock. Raises OSError."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with _temporary_file(place, data, leftovers) as temporary:
        temporary.replace(place)
        crash_point("import: file replaced")


def replace_locked(place: Path, data: bytes, leftovers: Leftovers, is_unchanged: Callable[[], bool]) -> bool:
    """Replace the file while holding git's lock, or remove it if `data` is empty. Return False if it changed meanwhile.

    Raises FileExistsError if another process holds the lock, or another OSError.
    """
    lock, content = place.with_name(f"{place.name}.lock"), data or _NOTHING
    noted = leftovers.recorded(place, lock.name, "lock", new=hashlib.sha256(content).hexdigest())
    with _temporary_file(place, content, leftovers) as temporary, noted:
        with folder_of(place.parent, place) as folder:
            rename_new(folder, temporary.name, lock.name)
        try:
            crash_point("import: lock held")
            is_ours = is_unchanged()
            if not is_ours or not data:
                if is_ours:
                    place.unlink(missing_ok=True)
                lock.unlink()
            else:
                lock.replace(place)
        except BaseException:
            lock.unlink(missing_ok=True)
            raise
        crash_point("import: file replaced under its lock")
        return is_ours


@contextmanager
def _temporary_file(place: Path, data: bytes, leftovers: Leftovers) -> Generator[Path]:
    temporary = place.with_name(f"{place.name}.{secrets.token_hex(4)}.lock")
    with leftovers.recorded(place, temporary.name, "made"):
        try:
            temporary.write_bytes(data)
            crash_point("import: written next to it")
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)
