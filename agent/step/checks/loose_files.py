"""Compute a mark of all files of a workspace from their stat fields, also ignored ones, for `--verify on-change`."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ...workspace.names import NOT_SEARCHED

_MOST = 100_000
_CACHES = NOT_SEARCHED | {".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox"}


def loose_mark(root: Path) -> str | None:
    """Return a mark that changes with any file or its times. None: there are more than 100,000 files."""
    found = hashlib.sha256()
    waiting, count = [str(root)], 0
    while waiting:
        try:
            with os.scandir(waiting.pop()) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _CACHES:
                    waiting.append(entry.path)
                continue
            count += 1
            if count > _MOST:
                return None
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            fields = (entry.path, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            found.update(repr(fields).encode("utf-8", "surrogateescape"))
    return found.hexdigest()
