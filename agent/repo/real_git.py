"""Run git in the user's repository without hooks and without settings that a command wrote."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ..host.program_search import find_program
from .user_config import SAFE_ENV, SAFE_SETTINGS, settings_env

if TYPE_CHECKING:
    from .git_folders import GitFolders

_SECONDS = 120.0
_IDENTITY = {f"GIT_{who}_{what}": "rundry" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


class RealGitFailed(Exception):
    """A git command failed. The message contains git's own message."""


class RealGit:
    """Runs git in one of the user's repositories."""

    def __init__(self, folders: GitFolders, ws: Path, settings: Sequence[tuple[str, str]] = ()) -> None:
        """`settings`: further settings, which come before those of the repository."""
        self._folders = folders
        self._git = find_program("git", [ws])
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        fixed = settings_env((*SAFE_SETTINGS, ("core.logAllRefUpdates", "true"), *settings))
        # git starts in this folder; below the top of a working tree it would list and name only what is there.
        top = {"GIT_WORK_TREE": str(folders.common)}
        self._env: dict[str, str] = {**env, **SAFE_ENV, **_IDENTITY, **fixed, **top, "LC_ALL": "C"}

    def run(self, *argv: str, stdin: bytes | IO[bytes] = b"", more: Mapping[str, str] | None = None) -> bytes:
        """Run a git command and return its output. Raises RealGitFailed. `more`: additional variables."""
        if self._git is None:
            raise RealGitFailed("git is not on the PATH outside of the workspace")
        line = [str(self._git), f"--git-dir={self._folders.own}", *argv]
        is_data = isinstance(stdin, bytes)
        try:
            done = subprocess.run(
                line,
                cwd=self._folders.common,
                env={**self._env, **(more or {})},
                stdin=None if is_data else stdin,
                input=stdin if is_data else None,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RealGitFailed(f"git {argv[0]}: {error}") from error
        if done.returncode:
            message = " ".join(done.stderr.decode("utf-8", "replace").split()).removeprefix("fatal: ")
            raise RealGitFailed(f"git {argv[0]}: {message or f'exit code {done.returncode}'}")
        return done.stdout
