"""The Python modules that belong to a predicate of the user, and not to the code under test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...layers.layer_effects import side_at
from ...layers.open_below import FOLDER

if TYPE_CHECKING:
    from ..scope.scope import Scope

_MOST = 2_000
"""Modules that are looked at; the predicate imports from its own folder."""


def approved_modules(script: str, scope: Scope, root: Path) -> dict[str, str]:
    """Return the SHA-256 of each module next to the predicate or below that the run may not change, by path.

    `script`: `FILE:function`. `root`: the workspace, or the view of a judge, in which these are the files of the start
    and what a person accepted.
    """
    folder = os.path.normpath(Path(script.rpartition(":")[0]).parent)
    if folder.startswith(("/", "..")):  # its source is read apart, and it has no module here
        return {}
    found = dict[str, str]()
    opened = os.open(root, FOLDER | os.O_CLOEXEC)
    try:
        for path in _modules(root, folder):
            if len(found) < _MOST and not scope.in_scope(path, new=False):
                with suppress(OSError):
                    seen = side_at(opened, os.fsencode(path))
                    found |= {} if seen is None or seen.side.type != "file" else {path: seen.side.digest}
    finally:
        os.close(opened)
    return found


def _modules(root: Path, folder: str) -> Iterator[str]:
    for above, folders, names in os.walk(root / folder):
        folders[:] = [name for name in folders if not name.startswith((".", "__pycache__", "node_modules"))]
        relative = os.path.relpath(above, root)
        yield from (os.path.normpath(f"{relative}/{name}") for name in names if name.endswith(".py"))
