"""The planted defects: which commit, which line, which replacement. No text of the projects is stored here.

A case is made again from a git directory of its project: HEAD is the commit's parent, and the working tree has the
files of the commit, with the defect planted in one line that the commit adds or changes.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Literal

import msgspec

CASES = Path(__file__).with_name("cases.toml")
Kind = Literal["off by one", "wrong condition", "missing error handling", "resource leak", "injection"]


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One diff with a defect."""

    repo: str
    commit: str
    path: str
    line: int
    kind: Kind
    pattern: str
    """Regular expression that occurs once in the line."""
    replace: str


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    case: list[Case]


def all_cases() -> list[Case]:
    return msgspec.toml.decode(CASES.read_bytes(), type=_Table).case


def mirror_of(case: Case, folder: Path) -> Path | None:
    """Return the git directory of the project: FOLDER/OWNER+NAME/repo, FOLDER/OWNER/NAME or FOLDER/OWNER/NAME.git."""
    names = (f"{case.repo.replace('/', '+')}/repo", case.repo, f"{case.repo}.git")
    return next((place for name in names if (place := folder / name).is_dir()), None)


def make(case: Case, mirror: Path, folder: Path) -> None:
    """Lay out the diff with its defect in a new folder."""
    _git(folder.parent, "clone", "-q", "--shared", "--no-checkout", str(mirror), str(folder))
    _git(folder, "checkout", "-q", "--detach", f"{case.commit}^")
    _git(folder, "read-tree", "-u", "--reset", case.commit)
    file = folder / case.path
    lines = file.read_text("utf-8").split("\n")
    planted, count = re.subn(case.pattern, case.replace, lines[case.line - 1])
    assert count == 1, f"{case.repo} {case.commit[:10]} {case.path}:{case.line}: the pattern does not fit"
    lines[case.line - 1] = planted
    file.write_text("\n".join(lines), "utf-8")


def _git(folder: Path, *argv: str) -> None:
    subprocess.run(["git", *argv], cwd=folder, check=True, capture_output=True)
