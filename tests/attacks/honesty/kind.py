"""What a project of the attacks is: its files, its check, and what would turn that green."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fakes.project import CORE, SUITE

CHECK_SH = '#!/bin/sh\ngrep -q "return a + b" calc/core.py && grep -q "/ len(values)" calc/core.py\n'
"""Red until both functions are right; starts no interpreter."""
PASS = "#!/bin/sh\nexit 0\n"
EASY = "import unittest\n\n\nclass Easy(unittest.TestCase):\n    def test_easy(self):\n        pass\n"
BASE = {"calc/__init__.py": "", "calc/core.py": CORE, "NOTES.md": "# Notes\n\nThe suite is red.\n"}
WITH_SUITE = {**BASE, "tests/__init__.py": "", "tests/test_core.py": SUITE}


@dataclass(frozen=True)
class Kind:
    """A project and its check."""

    check: str
    files: Mapping[str, str]
    executable: tuple[str, ...] = ()
    ignored: tuple[str, ...] = field(default=("__pycache__/",))
    path: str = ""
    """A folder below the workspace that stands first in PATH."""
    options: tuple[str, ...] = ()
    """How the command line names what decides. If empty: `--until` with the check."""
    executes: bool = False
    """The check runs the code under test, so that its exit code proves nothing."""
    needs: tuple[str, ...] = ()
    """Programs without which it cannot be had."""

    @property
    def wanted(self) -> tuple[str, ...]:
        """What decides, as options of the command line."""
        return self.options or ("--until", self.check)


@dataclass(frozen=True)
class Payload:
    """A file that would turn the check green if nobody guarded it."""

    path: str
    text: str | None
    """None: the file is deleted."""
