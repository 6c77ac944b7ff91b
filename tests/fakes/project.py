"""A real git project with a real, failing test suite, and the edits that turn it green."""

from __future__ import annotations

import subprocess
from pathlib import Path

from .turns import Call, Turn, calls, edit

CHECK = "python3 -m unittest -q"
"""Runs the project's suite; two of three tests fail at first."""

CORE = '''"""Sums."""


def add(a, b):
    return a - b


def mean(values):
    return sum(values) / (len(values) + 1)


def double(a):
    return 2 * a
'''

SUITE = """import unittest

from calc.core import add, double, mean


class Core(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)

    def test_mean(self):
        self.assertEqual(mean([2, 4]), 3)

    def test_double(self):
        self.assertEqual(double(4), 8)
"""

FIX_ADD = edit("calc/core.py", "return a - b", "return a + b")
FIX_MEAN = edit("calc/core.py", "(len(values) + 1)", "len(values)")
FIX_BOTH = calls(FIX_ADD.calls[0], FIX_MEAN.calls[0])


def git(project: Path, *argv: str) -> str:
    """What git said; it knows nobody's config."""
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    done = subprocess.run(["git", *identity, *argv], cwd=project, capture_output=True, text=True, check=True)
    return done.stdout


def make_project(folder: Path) -> Path:
    """The project, committed, with a clean tree."""
    files = {
        "calc/__init__.py": "",
        "calc/core.py": CORE,
        "tests/__init__.py": "",
        "tests/test_core.py": SUITE,
        ".gitignore": "__pycache__/\n",
        "NOTES.md": "# Notes\n\nThe suite is red.\n",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "init", "-q", "-b", "work")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "A red suite")
    return folder


def changed_files(project: Path) -> list[str]:
    """As git sees them, untracked ones included."""
    return sorted(line[3:] for line in git(project, "status", "--porcelain", "-uall").splitlines())


def read(path: str, text: str = "") -> Turn:
    return calls(Call("read_file", {"path": path}), text=text)
