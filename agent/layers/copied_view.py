"""Prepare the copy in which a judge runs checks, where there are no layers, and find what the checks wrote in it."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from .copies import CopyFolders, and_above, differing_paths
from .effects import status_at
from .judge import shown_past, write_past
from .overwritten import digest_or_size

if TYPE_CHECKING:
    from .copies import CopyLayer
    from .judge import Past
    from .start_copy import StartCopy


def put_in_copy(copy: CopyLayer, past: Mapping[str, Past | None]) -> None:
    """Let these paths of a copy be as they were. Raises OSError, and ValueError and TooMuch as `put_past`."""
    with CopyFolders(copy.workspace, copy.tree) as folders:
        for path, was in shown_past(past):
            if was is not None and was.type == "folder":
                folders.make_folder(path)
                continue
            now = status_at(copy.root, path)
            if was is None and now is None:
                continue
            folders.remove(path)
            if was is None:
                continue
            folders.make_parents(path)
            parent, _, name = path.rpartition(b"/")
            opened = folders.open_parent(parent)
            try:
                write_past(opened, name, was, now)
            finally:
                os.close(opened)


def put_start_in_copy(
    copy: CopyLayer, start: StartCopy, past: Mapping[str, Past | None], outputs: Collection[str]
) -> dict[str, Past | None]:
    """Let what nobody can decide on be as at the start: git, byte-code, and output. Returns the rest of `past`.

    Raises OSError.
    """
    before, tops = start.layer, {os.fsencode(path) for path in outputs}
    paths = {
        path
        for path in differing_paths(before.source, copy.source)
        if start.has(path) or not tops.isdisjoint(and_above(path))
    }
    with CopyFolders(before.tree, copy.tree) as folders:
        for path in sorted(paths, reverse=True):
            folders.delete(path, before.own)
        for path in sorted(paths & before.own.entries.keys()):
            folders.copy(path, before.own.entries[path].side)
    return {path: was for path, was in past.items() if tops.isdisjoint(and_above(os.fsencode(path)))}


def overwritten_in_copy(copy: CopyLayer) -> dict[str, str]:
    """Return the files that were in a prepared copy and that checks wrote or deleted.

    The values are those of `overwritten`. No process may run in the copy any more. Raises OSError.
    """
    return dict(_overwritten(copy))


def _overwritten(copy: CopyLayer) -> Iterator[tuple[str, str]]:
    before = copy.own.entries
    for path in sorted(differing_paths(copy.own, copy.read())):
        if path not in before or before[path].side.type == "folder":
            continue
        status = status_at(copy.root, path)
        is_gone = status is None or stat.S_ISDIR(status.st_mode)
        yield os.fsdecode(path), "" if is_gone else digest_or_size(copy.root, path)
