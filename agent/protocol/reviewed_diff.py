"""The diff that a review looks at: files, hunks, and what is not shown."""

from __future__ import annotations

from typing import Literal

import msgspec

DiffStatus = Literal["added", "deleted", "renamed", "modified"]
Relation = Literal["", "changed", "affected", "outside"]
"""Where a finding of a review lies: on a line of the diff; elsewhere, but caused by a line of the diff; or neither.
Empty in other searches."""
FailOn = Literal["confirmed", "none"]
"""With which findings a review that is dry and complete does not exit with 0."""
RepairResult = Literal["", "applied", "dropped"]
"""What became of the changes of a repair: they are in the workspace, or nobody accepted any of them. Empty if there are
none, or if they stay in its stage."""
EXIT_FOUND = 7
"""The exit code of a review that is dry and complete, with a finding that counts."""


class DiffHunk(msgspec.Struct, frozen=True):
    """One section of a file that changed, with the lines around it."""

    old: int
    """Number of its first line on the old side, from 1."""
    new: int
    """Number of its first line on the new side, from 1."""
    lines: list[str]
    """Each line with a mark in front: a space, `-`, `+`, or a backslash for what git says about the line above."""

    @property
    def last(self) -> int:
        """Number of its last line on the new side; the first one if it has none there."""
        return self.new + max(0, sum(line[:1] in (" ", "+") for line in self.lines) - 1)


class DiffFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file that differs between the two sides."""

    path: str
    """On the new side, relative to the workspace."""
    old_path: str = ""
    """Before a rename."""
    status: DiffStatus = "modified"
    modes: tuple[str, str] | None = None
    """The modes of both sides, if they differ or the file is not a plain one."""
    hunks: list[DiffHunk] = []
    left_out: str = ""
    """Why its lines are not shown to the model. Empty means that they are."""


class ReviewedDiff(msgspec.Struct, frozen=True, kw_only=True):
    """A diff as it was when the review began."""

    what: str
    """In words: `the changes of the working tree since 1a2b3c4`."""
    commit: str = ""
    """The commit of the new side. Empty if it is not a commit."""
    base: str = ""
    """The commit of the old side. Empty if there was none."""
    files: list[DiffFile] = []

    @property
    def shown(self) -> list[DiffFile]:
        """The files whose lines are shown."""
        return [file for file in self.files if not file.left_out]

    @property
    def left_out(self) -> list[DiffFile]:
        """The files whose lines are not shown."""
        return [file for file in self.files if file.left_out]


class ReviewSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a review looks at."""

    diff: str
    """Hash of the stored `ReviewedDiff`, as JSON."""
    home: str = ""
    """The user's folder, if the workspace is a copy of the new side."""
    fail_on: FailOn = "confirmed"
