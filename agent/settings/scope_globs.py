"""Check the globs of `--scope`. A small module, because the screen needs it before its prompt."""

from __future__ import annotations

from collections.abc import Sequence

from ..host.files.git_patterns import is_pattern


def scope_problem(globs: Sequence[str]) -> str | None:
    """Return why these globs cannot be added to a scope, or None if they can."""
    for glob in globs:
        if not glob.strip() or glob.startswith("!") or not is_pattern(glob):
            return f"{glob!r} is not a glob of files: use a path or a glob, such as docs/**"
    return None
