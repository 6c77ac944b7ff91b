"""Carry out `rundry fork`: create a run that continues another one. Does not import textual."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from rundry.agent import fork_run, plural

from ..border.json_out import print_json
from ..setup.folders import folder_of
from ..setup.resuming import find_any_own
from ..text import one_line, show

_MOST = 12
"""Number of files that are listed."""


def fork(ref: str | None, flags: Mapping[str, object], *, at: int | None, files: bool, as_json: bool) -> int:
    """Create the run and print how to continue it. Return 0, or 1 if files were not restored. Raises RundryError."""
    folder = folder_of(flags)
    forked = fork_run(find_any_own(ref, flags), folder, at=at, files=files)
    if as_json:
        print_json(forked)
        return 1 if forked.left else 0
    of = "" if forked.step == forked.steps else f" of {forked.steps}"
    _say(f"{forked.run_id}  forked from {forked.forked_from} after step {forked.step}{of}")
    if files:
        _say(f"{plural(len(forked.restored), 'file')} restored to that step")
    for line in forked.left[:_MOST]:
        _say(f"left unchanged: {one_line(line)}")
    if len(forked.left) > _MOST:
        _say(f"left unchanged: {len(forked.left) - _MOST} more")
    where = f" --runs-dir {shlex.quote(str(flags['runs_dir']))}" if flags.get("runs_dir") else ""
    _say(f'continue with: rundry resume {forked.run_id}{where} --hint "..."')
    return 1 if forked.left else 0


def _say(text: str) -> None:
    print(show(text))
