"""Restore the index under git's own lock."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from .repository import GitFailed, Repository

if TYPE_CHECKING:
    from .places import GitPlaces
    from .state import GitState


async def restore_index(
    repository: Repository, places: GitPlaces, want: GitState, have: GitState, load: Callable[[str], bytes]
) -> list[str]:
    """Restore the index, or return a line with the reason why not. Raises GitFailed and OSError.

    Git updates the file times in the index whenever it reads it, so only the other fields of its entries are compared.
    """
    if want.staged == have.staged:
        return []
    listed = (await repository.run_checked("ls-files", "--stage", "-v", "-z")).out
    now = hashlib.sha256(listed).hexdigest()
    if now == want.staged:
        return []
    if now != have.staged:
        return ["the index: not restored, because someone changed it since"]
    index, lock = places.folder / "index", places.folder / "index.lock"
    try:
        held = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    except FileExistsError:
        raise GitFailed(f"another git process holds {lock}") from None
    with os.fdopen(held, "wb") as file:
        file.write(b"" if want.index is None else load(want.index))
    if want.index is None:
        index.unlink(missing_ok=True)
        lock.unlink()
    else:
        lock.replace(index)
    return []
