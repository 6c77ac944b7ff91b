"""A `git` on the PATH that ends the runner, as `kill -9` does, right after a call that changed the repository."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

_SCRIPT = """#!/bin/sh
echo "$*" >> '{log}'
'{git}' "$@"
code=$?
case "$1 $2" in
"stash store"|"symbolic-ref -m"|"update-ref "*) [ -e '{armed}' ] && kill -9 $PPID;;
esac
exit $code
"""


class KillingGit:
    """The folder with that program, and what was called."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._log, self._armed = folder / "calls", folder / "armed"
        script = folder / "git"
        script.write_text(_SCRIPT.format(log=self._log, armed=self._armed, git=shutil.which("git")))
        script.chmod(0o755)
        self._folder = folder

    def env(self, path: str, *, is_armed: bool) -> dict[str, str]:
        """The PATH for a runner. `is_armed`: the first such call ends it."""
        self._log.write_text("")
        self._armed.touch() if is_armed else self._armed.unlink(missing_ok=True)
        return {"PATH": f"{self._folder}{os.pathsep}{path}"}

    @property
    def calls(self) -> list[str]:
        """Arguments of each call of the last runner, oldest first."""
        return self._log.read_text().splitlines()
