"""A `git` on the PATH that ends the runner, as `kill -9` does, at a call of a roll-back."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

_SCRIPT = """#!/bin/sh
echo "$*" >> '{log}'
at=none
[ -e '{armed}' ] && at=$(cat '{armed}')
number=$(sed -n '/^bundle create/,$p' '{log}' | sed 1d | wc -l)
[ "$at" = "before $number" ] && kill -9 $PPID && exit 1
'{git}' "$@"
code=$?
[ "$at" = "after $number" ] && kill -9 $PPID
case "$at $1 $2" in
"change stash store"|"change symbolic-ref -m"|"change update-ref "*) kill -9 $PPID;;
esac
exit $code
"""

CHANGE = "change"
"""Right after the first call that changes HEAD, a ref or the stash."""


class KillingGit:
    """The folder with that program, and what was called."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._log, self._armed = folder / "calls", folder / "armed"
        script = folder / "git"
        script.write_text(_SCRIPT.format(log=self._log, armed=self._armed, git=shutil.which("git")))
        script.chmod(0o755)
        self._folder = folder

    def env(self, path: str, *, at: str | None) -> dict[str, str]:
        """The PATH for a runner. `at`: CHANGE, or `before 3` or `after 3`, a call of its roll-back; None: it lives."""
        self._log.write_text("")
        self._armed.unlink(missing_ok=True) if at is None else self._armed.write_text(at)
        return {"PATH": f"{self._folder}{os.pathsep}{path}"}

    @property
    def calls(self) -> list[str]:
        """Arguments of each call of the last runner, oldest first."""
        return self._log.read_text().splitlines()

    @property
    def of_roll_back(self) -> list[str]:
        """The calls after the commits of the pass were bundled: its roll-back begins with them."""
        bundled = next(n for n, line in enumerate(self.calls) if line.startswith("bundle create"))
        return self.calls[bundled + 1 :]
