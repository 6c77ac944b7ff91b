"""The harnesses that are compared, each with the command that lets it repair one program."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fakes.rundry import RUNDRY

CHECK = "python -m pytest -q -x --timeout 10"
PYTHON = os.path.normpath(sys.executable)
"""This Python, without `..`: a harness may hide the folder on the way from what it starts."""


@dataclass(frozen=True)
class Job:
    """What a harness is asked to do."""

    program: str
    """File name of the program; the tests are next to it."""
    base: str
    model: str
    seconds: int

    @property
    def sentence(self) -> str:
        task = f"{self.program} has a bug and its tests fail. Repair {self.program} until `{CHECK}` passes."
        return f"{task} Leave the tests as they are."


@dataclass(frozen=True)
class Harness:
    name: str
    command: Callable[[Job], list[str]]
    program: str = ""
    """Name of the program that must be installed, or empty if it belongs to this repository."""
    implies_success: Callable[[str], bool] = lambda log: True
    """Whether what it printed implies success, for a harness whose exit code is 0 in any case."""
    ends_itself: bool = False
    """Whether it knows the time limit. Then it gets some seconds more to end."""

    @property
    def installed(self) -> bool:
        return not self.program or shutil.which(self.program) is not None

    def claims(self, exit_code: int, log: str) -> bool:
        """Return whether the harness says, or implies with its exit code, that the program is repaired."""
        return exit_code == 0 and self.implies_success(log)


def _rundry(job: Job) -> list[str]:
    model = ["--model", job.model, "--api-base", job.base]
    limits = ["--time", f"{job.seconds}s", "--steps", "none", "--tokens", "none"]
    return [str(RUNDRY), "run", job.sentence, "--until", CHECK, *model, *limits, "--headless", "--gate", "auto"]


def _bare(job: Job) -> list[str]:
    script = str(Path(__file__).with_name("bare_loop.py"))
    return [PYTHON, script, job.program, job.base, job.model, CHECK, str(job.seconds)]


def _aider(job: Job) -> list[str]:
    quiet = ["--no-analytics", "--no-check-update", "--no-show-model-warnings", "--no-show-release-notes"]
    quiet += ["--no-gitignore", "--no-auto-commits"]
    checks = ["--auto-test", "--test-cmd", CHECK]
    files = [job.program, "--read", f"test_{job.program}"]
    asked = ["--model", f"openai/{job.model}", "--map-tokens", "0", "--message", job.sentence]
    return ["aider", "--yes-always", *quiet, *checks, *asked, *files]


def _aider_passed(log: str) -> bool:
    """Return whether the tests passed after the last edit: if they fail, aider adds their output to the chat."""
    return log.rfind("Applied edit to") > log.rfind("of output to the chat")


HARNESSES = (
    Harness("rundry", _rundry, ends_itself=True),
    Harness("bare", _bare, ends_itself=True),
    Harness("aider", _aider, program="aider", implies_success=_aider_passed),
)


def environment(job: Job, home: Path) -> dict[str, str]:
    """Return the variables of a harness: an empty home, and the server's address for those that read it there."""
    return {
        "PATH": os.pathsep.join([str(Path(PYTHON).parent), os.environ.get("PATH", os.defpath)]),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "OPENAI_API_KEY": os.environ.get("OPENAI_API_KEY", "x"),
        "OPENAI_API_BASE": job.base,
    }
