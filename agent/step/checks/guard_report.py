"""Report at the end of a run whether the guarded files are unchanged, and what could not be guaranteed."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from ...workspace.sandbox.bubblewrap import MOST_READ_ONLY

_NAMED = 6
"""Paths that one line lists."""


class GuardReport(msgspec.Struct, frozen=True, kw_only=True):
    """Whether all guarded files still have their approved content; part of the outcome's evidence."""

    sealed: int
    """Number of guarded paths, including missing ones."""
    unchanged: bool
    """Whether all have their approved content now, and no change was approved during the run."""
    differing: list[str]
    """Paths whose content differs from the approved content."""
    approved: list[str]
    """Paths whose change a person approved during the run."""
    not_held: list[str]
    """What could not be guaranteed, one line each."""


def not_held_lines(kind: str | None, existing: int, lost: Collection[str], cut_links: Collection[str]) -> list[str]:
    """Return what cannot be guaranteed here, one line each.

    `lost`: paths whose approved content is too large to keep. `cut_links`: links to folders with too many files.
    """
    lines: list[str] = []
    if kind is None:
        lines.append(
            "without a sandbox, commands can change what the check depends on: a change in the workspace stays"
            " and does not count, a change outside is not noticed"
        )
    elif kind == "landlock":
        lines.append("Landlock does not protect guarded files from commands: their changes stay, and do not count")
    elif existing > MOST_READ_ONLY:
        lines.append(f"{existing - MOST_READ_ONLY} of {existing} guarded files are compared, but not write-protected")
    if lost:
        lines.append(f"too large to be restored when a command changes them: {', '.join(sorted(lost)[:_NAMED])}")
    if cut_links:
        names = ", ".join(sorted(cut_links)[:_NAMED])
        lines.append(f"links to folders with too many files, so not all files behind them are guarded: {names}")
    return lines
