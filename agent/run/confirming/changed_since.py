"""Find out whether the files that an ended run changed are still as it left them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...journal.encoding import recorded_text
from ...layers.effects import IN_MEMORY, Side
from ...layers.present import Present
from ...layers.rows import decode_rows
from ...workspace.ignore import Ignore

if TYPE_CHECKING:
    from pathlib import Path

    from ...facts.changes import Changes
    from ...journal.journal import Journal


def changed_since(journal: Journal, changes: Changes, root: Path) -> list[str]:
    """Return the files that the run changed and somebody else changed since, sorted.

    Raises OSError if the workspace cannot be opened, and KeyError if the journal lacks what a command changed.
    """
    wanted = _as_left(journal, changes, Ignore(root))
    found = Present(root).sides(sorted(wanted))
    return [recorded_text(path) for path, now in found if (None if now is None else now.digest) not in wanted[path]]


def _as_left(journal: Journal, changes: Changes, ignore: Ignore) -> dict[str, set[str | None]]:
    """Return the digests that each file may have; None: it may be missing. What is ignored was built or installed."""
    newest = dict[str, Side | None]()
    for blob in changes.orders:
        newest.update((row.path, row.after) for row in decode_rows(journal.blob(blob)))
    paths = {recorded_text(path): path for path in newest}
    wanted = dict[str, set[str | None]]()
    for landed in changes.standing:
        effects = landed.effects
        for number, row in enumerate([] if effects is None else decode_rows(journal.blob(effects.rows))):
            is_counted = effects is not None and number >= effects.shown and number not in effects.failed
            is_folder = all(side is None or side.type == "folder" for side in (row.before, row.after))
            if is_counted and not is_folder and not ignore.ignored(row.path):
                wanted[row.path] = {None if row.after is None else row.after.digest}
    for name, (_, after) in changes.files.items():
        if name in changes.staged:
            continue
        path = paths.get(name, name)
        row = newest.get(path)
        is_large = after is None and row is not None and row.size > IN_MEMORY  # the journal has not its bytes
        wanted[path] = {after, row.digest} if is_large and row is not None else {after}
    return wanted
