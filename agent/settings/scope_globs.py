"""Check the globs of `--scope`. A small module, because the screen needs it before its prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..host.files.quick_spec import QuickSpec


def scope_problem(globs: Sequence[str]) -> str | None:
    """Return why these globs cannot be added to a scope, or None if they can."""
    for glob in globs:
        if not glob.strip() or glob.startswith("!") or not _compiles(glob):
            return f"{glob!r} is not a glob of files: use a path or a glob, such as docs/**"
    return None


def _compiles(glob: str) -> bool:
    try:
        QuickSpec([glob])
    except (ValueError, re.error):
        return False
    return True
