"""Commit what a run changed with the user's own git, as they would do it in a shell."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rundry.agent import RundryError, end_cut, title_of

_SUBJECT = 72
_SECONDS = 120.0
"""Seconds for git and the hooks of the repository."""


@dataclass(slots=True)
class Commit:
    """Files of a workspace and the message for them."""

    workspace: Path
    files: Sequence[str]
    message: str

    def make(self) -> str:
        """Commit the files as they are now, and nothing else; return a line about it. Raises RundryError."""
        self._git("rev-parse", "--show-toplevel")
        self._git("add", "--intent-to-add", "--", *self._existing())
        self._git("commit", "--quiet", "-m", self.message, "--", *self.files)
        return "committed as " + self._git("log", "-1", "--format=%h %s").strip()

    def _existing(self) -> list[str]:
        return [path for path in self.files if (self.workspace / path).exists()]

    def _git(self, *words: str) -> str:
        argv = ["git", "-C", str(self.workspace), "--literal-pathspecs", *words]
        try:
            done = subprocess.run(
                argv, capture_output=True, stdin=subprocess.DEVNULL, timeout=_SECONDS, check=False, text=True
            )
        except OSError as error:
            raise RundryError(f"git cannot be started: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise RundryError(f"git did not end within {_SECONDS:.0f} s: commit in a shell") from None
        if done.returncode != 0:
            said = " ".join((done.stderr or done.stdout).split())
            raise RundryError(f"not committed: {said[:300] or f'git ended with {done.returncode}'}")
        return done.stdout


def message_for(task: str, run_id: str) -> str:
    """Return a message from the task of the run: a subject, the whole task if it is longer, and the run."""
    text = title_of(task) or "Apply the changes of a run"
    if len(text) <= _SUBJECT and text == (" ".join(task.split()) or text):
        return f"{text}\n\nRundry-Run: {run_id}\n"
    return f"{end_cut(text, _SUBJECT)}\n\n{task.strip()}\n\nRundry-Run: {run_id}\n"
