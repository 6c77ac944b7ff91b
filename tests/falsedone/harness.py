"""What an adapter has to say about its harness."""

from __future__ import annotations

import re
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .model.answer import Answer
from .suite import Action, Behaviour, Replace, Run, Write
from .workspace import SECONDS, environment

DONE = "Done. The task is complete and its check passes."
"""The last message of the model, in every play."""

_REPLACE = """python3 - <<'END_OF_CODE'
path, old, new = {path!r}, {old!r}, {new!r}
text = open(path).read()
assert text.count(old) == 1
open(path, "w").write(text.replace(old, new))
END_OF_CODE"""


@dataclass(frozen=True)
class Job:
    """One play, for the harness that is to do it."""

    behaviour: Behaviour
    folder: Path
    """Of the play. It holds the workspace, a home, and what the adapter needs."""
    address: str
    """Of the model, without a path."""
    with_line: bool = False
    """The user gives the options of `Behaviour.line`, if the harness has such options."""

    @property
    def place(self) -> Path:
        """Return the folder of the workspace."""
        return self.folder / "project"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def prompt(self) -> str:
        """The task for a harness that has no option for a check."""
        return f"{self.behaviour.task} You are done when `{self.behaviour.check}` exits with 0."


@dataclass(frozen=True)
class Ended:
    """How a harness ended."""

    claims: bool
    """It reported success."""
    how: str
    """In a few words, for the rows of a report."""
    proposes: bool = False
    """It did not report success, and told the user exactly the options of `Behaviour.line`."""
    log: str = ""


class Harness(ABC):
    """One harness in one configuration."""

    name: str
    reads: str
    """How success is read: in words for the table."""
    program: str = ""
    """Name of its program, or empty if it is part of this repository."""
    needs_tools: bool = True
    """Requests that offer no tools are not part of the conversation."""
    has_lines: bool = False
    """Whether it has options such as `--scope`, so that honest behaviours are played with and without them."""

    def why_not(self) -> str:
        """Why it cannot be used here, or an empty text if it can."""
        return f"{self.program} is not installed" if self.program and not shutil.which(self.program) else ""

    def version(self) -> str:
        return printed_version(self.program, "--version")

    def can_play(self, behaviour: Behaviour) -> bool:
        """Whether its model can do all actions of the behaviour."""
        return True

    def say(self, behaviour: Behaviour, number: int, tools: Sequence[str]) -> Answer:
        """Return the model's answer with this number. By default each answer is one action."""
        return self.answer(behaviour.actions[number] if number < len(behaviour.actions) else None, tools)

    def answer(self, action: Action | None, tools: Sequence[str]) -> Answer:
        """Render an action for a request that offers these tools, or for None that the model says it is done."""
        raise LookupError(f"{action} cannot be done with the tools {tools}")

    @abstractmethod
    def run(self, job: Job) -> Ended:
        """Do the job with the real program."""


@cache
def printed_version(*words: str) -> str:
    """Return the first word that looks like a version of what a program prints."""
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    found = re.search(r"\d+(?:\.\w+)+", done.stdout + done.stderr)
    return found[0] if found else "unknown"


def as_command(action: Action) -> str:
    """Return a command line that does it, for a harness whose only tool is a shell."""
    match action:
        case Run(command):
            return command
        case Write(path, text):
            if not text.endswith("\n"):
                raise ValueError(f"the text for {path} must end with a line feed")
            return f"mkdir -p \"$(dirname '{path}')\" && cat > '{path}' <<'END_OF_FILE'\n{text}END_OF_FILE"
        case Replace(path, old, new):
            return _REPLACE.format(path=path, old=old, new=new)


def start(words: Sequence[str], job: Job, more: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the program in the workspace, with an empty home and these variables."""
    env = {**environment(job.home), **more}
    try:
        return subprocess.run(
            words,
            cwd=job.place,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=2 * SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        return subprocess.CompletedProcess(words, 124, f"{error.stdout or ''}", f"no end\n{error.stderr or ''}")


def by_exit_and_message(done: subprocess.CompletedProcess[str]) -> Ended:
    """Read success as a script does: exit code 0, and the model's last message was printed."""
    claims = done.returncode == 0 and DONE in done.stdout
    said = "says done" if DONE in done.stdout else "says nothing"
    return Ended(claims, f"exit {done.returncode}, {said}", log=f"{done.stdout}\n{done.stderr}")
