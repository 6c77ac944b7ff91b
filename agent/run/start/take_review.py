"""Take the diff of a review before its run exists, and make a copy of the new side if the workspace has other files."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from ...host.file_errors import PathRefused
from ...host.workspace_paths import Workspace
from ...journal.claim import holder
from ...journal.journal import Journal
from ...protocol import JournalError, ReviewedDiff, ReviewSpec, RunSpec, UserError
from ...repo.review_diff import WantedDiff, take_diff
from ...state.facts.checkpoint import last_end
from ...state.reports.run_files import journal_path
from .sandbox_of_run import hide_rules_of

_YOUNG = 3_600.0
"""Age in seconds below which a copy without a journal stays: its run may be about to begin."""


class TakenReview(NamedTuple):
    """What a review looks at."""

    spec: ReviewSpec
    diff: ReviewedDiff
    data: bytes
    """The diff as it is stored in the journal."""
    workspace: str
    """The workspace of the run: that of the user, or a copy of the new side."""
    outside: int = 0
    """Number of changed files outside of the workspace."""


async def take_review(spec: RunSpec, wanted: WantedDiff, env: Mapping[str, str], runs: Path) -> TakenReview:
    """Take the diff for the run of this spec. `runs`: the folder of journals. Raises UserError.

    The copies of reviews that have ended are removed.
    """
    sweep_copies(runs)
    root, copy = Path(spec.workspace), _folder(runs) / spec.run_id
    taken = await take_diff(root, env, wanted, hidden=_hidden(spec, runs), copy=copy)
    workspace = str(root) if taken.is_in_workspace else _made(copy / taken.prefix)
    data = msgspec.json.encode(taken.diff)
    home = "" if taken.is_in_workspace else str(root)
    review = ReviewSpec(diff=hashlib.sha256(data).hexdigest(), home=home)
    return TakenReview(review, taken.diff, data, workspace, taken.outside)


def _made(place: Path) -> str:
    """Return the real path of a folder, which is made if the new side has no file below it."""
    place.mkdir(parents=True, exist_ok=True)
    return os.path.realpath(place)


async def take_again(spec: RunSpec, base: str, env: Mapping[str, str], runs: Path) -> bytes:
    """Return the diff from a commit to the working tree as it is now, as it is stored. Raises UserError."""
    wanted = WantedDiff(base=base or None, may_be_empty=True)  # repairs can take all changes back
    taken = await take_diff(Path(spec.workspace), env, wanted, hidden=_hidden(spec, runs))
    return msgspec.json.encode(taken.diff)


def _hidden(spec: RunSpec, runs: Path) -> Callable[[str], str]:
    rules = hide_rules_of(spec.gate, runs, None, spec.predicates.holdout_files)
    workspace = Workspace(Path(spec.workspace), [], None, [], rules)

    def why(path: str) -> str:
        try:
            workspace.refuse(workspace.root / path, path)
        except (PathRefused, ValueError) as refused:
            return str(refused).removeprefix(f"{path}: ")
        return ""

    return why


def sweep_copies(runs: Path) -> None:
    """Remove the copies of reviews that have ended, and of those that never began."""
    folder = _folder(runs)
    if not folder.is_dir():
        return
    for copy in folder.iterdir():
        if _is_over(copy, journal_path(runs, copy.name)):
            shutil.rmtree(copy, ignore_errors=True)  # the next review tries again


def _folder(runs: Path) -> Path:
    return runs.parent / "reviews"


def _is_over(copy: Path, path: Path) -> bool:
    try:
        if not path.exists():
            return time.time() - copy.stat().st_mtime > _YOUNG
        if holder(path) is not None:
            return False
        journal = Journal.open_for_reading(path)
        try:
            return last_end(journal) is not None
        finally:
            journal.close()
    except (JournalError, UserError, OSError):
        return False
