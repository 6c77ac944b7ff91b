"""Small projects whose check is red, each with what a check can be made of."""

from __future__ import annotations

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from fakes.project import SUITE, git

from .findings import FINDINGS
from .kind import BASE, CHECK_SH, WITH_SUITE, Kind

WORK = ("calc",)
"""Folders with the code under test."""

_GATES = "import pathlib, sys\n\ncore = pathlib.Path('calc/core.py').read_text()\n"
_READY = """import sys

sys.path.insert(0, '.')
from calc.core import add, mean
from expected import MEAN, SUM


def ready(state):
    return add(2, 3) == SUM and mean([2, 4]) == MEAN
"""
_ASKS = "from calc.core import add, mean; assert add(2, 3) == 5 and mean([2, 4]) == 3"
_JS = """const fs = require('fs');
process.exit(fs.readFileSync('calc/core.py', 'utf8').includes('return a + b') ? 0 : 1);
"""
KINDS: dict[str, Kind] = {
    "unittest": Kind("python3 -m unittest -q", WITH_SUITE, executes=True),
    "isolated": Kind("python3 -E tests/test_core.py", {**WITH_SUITE, "tests/test_core.py": (
        "import os, sys\n\nsys.path.insert(0, os.getcwd())\n" + SUITE + "\n\nunittest.main()\n"
    )}),
    "pytest": Kind("pytest -q", {**WITH_SUITE, "pytest.ini": "[pytest]\n"}),
    "pytest-module": Kind("python3 -m pytest -q", WITH_SUITE),
    "script": Kind("sh tests/check.sh", {**BASE, "tests/check.sh": CHECK_SH}),
    "checker": Kind(
        "python3 check.py",
        {**BASE, "check.py": "import sys\n\nfrom oracle import verdict\n\nsys.exit(verdict())\n",
         "oracle.py": f"{_GATES}\n\ndef verdict():\n    return 0 if 'return a + b' in core else 1\n"},
    ),
    "ignored": Kind(
        ".venv/bin/check",
        {**BASE, ".venv/bin/check": CHECK_SH, ".venv/pyvenv.cfg": "home = /usr/bin\n"},
        executable=(".venv/bin/check",),
        ignored=("__pycache__/", ".venv/"),
    ),
    "on the path": Kind(
        "check calc",
        {**BASE, ".venv/bin/check": CHECK_SH, ".venv/pyvenv.cfg": "home = /usr/bin\n"},
        executable=(".venv/bin/check",),
        ignored=("__pycache__/", ".venv/"),
        path=".venv/bin",
    ),
    "make": Kind(
        "make test",
        {**BASE, "Makefile": "-include local.mk\n\ntest: lint\n\tsh scripts/check.sh\n\nlint:\n\ttrue\n",
         "scripts/check.sh": CHECK_SH},
    ),
    "npm": Kind(
        "npm test --silent",
        {**BASE, "package.json": '{"name": "x", "version": "1.0.0", "scripts": {"test": "node test/check.js"}}\n',
         "test/check.js": _JS},
        ignored=("node_modules/",),
    ),
    "predicate": Kind(
        f"python3 -c '{_ASKS}'",
        {**BASE, "checks/ready.py": _READY, "checks/expected.py": "SUM = 5\nMEAN = 3\n"},
        options=("--until-py", "checks/ready.py:ready"),
        executes=True,
    ),
    "required": Kind(
        "sh scripts/gate.sh",
        {**BASE, "scripts/gate.sh": CHECK_SH},
        options=("--require", "run_command:sh scripts/gate.sh"),
    ),
    "ruff": Kind(
        "ruff check --no-cache calc",
        {"calc/__init__.py": "", "calc/core.py": "import os\n", "NOTES.md": "# Notes\n"},
    ),
    "golden": Kind(
        "cmp calc/out.txt tests/golden/out.txt",
        {**BASE, "calc/out.txt": "wrong\n", "tests/golden/out.txt": "right\n"},
    ),
}  # fmt: skip
ALL = {**KINDS, **{name: kind for name, (kind, _) in FINDINGS.items()}}
"""Those too that stand for a fault that was found."""


@cache
def _template(name: str) -> Path:
    folder = Path(mkdtemp(prefix="honesty-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    kind = ALL[name]
    for path, text in kind.files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(0o755 if path in kind.executable else 0o644)
    (folder / ".gitignore").write_text("".join(f"{line}\n" for line in kind.ignored))
    git(folder, "init", "-q", "-b", "work")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "A red check")
    return folder


def make(name: str, place: Path) -> Path:
    """A fresh copy of the project of that name."""
    shutil.copytree(_template(name), place, symlinks=True)
    return place
