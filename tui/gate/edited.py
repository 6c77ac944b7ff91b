"""The diff of what the person wrote in the editor. No textual in here."""

from __future__ import annotations

import difflib


def diff_of(before: str, after: str, path: str) -> str:
    """A unified diff, as a proposal's."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{path}", f"b/{path}"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
