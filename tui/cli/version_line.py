"""The line of `rundry --version`. Imports only the version."""

from __future__ import annotations

import subprocess
from pathlib import Path

from rundry.agent import VERSION

_ROOT = Path(__file__).resolve().parents[2]
"""The package of a wheel, or the folder of a checkout."""
_SHOWN = 12


def version_line() -> str:
    """Return the version with the commit from which the program was built, or which is checked out."""
    commit, dash, changed = _commit().partition("-")
    return f"rundry, version {VERSION} (commit {commit[:_SHOWN] or 'unknown'}{dash}{changed})"


def _commit() -> str:
    """Return what the build wrote down (hatch_build.py); in a checkout, what git says. Empty if nobody knows."""
    written = _ROOT / "_commit.txt"
    if written.is_file():
        return written.read_text(encoding="ascii").strip()
    if not (_ROOT / ".git").exists() or not (_ROOT / "package").is_dir():
        return ""
    commit = _git("rev-parse", "HEAD")
    return f"{commit}-changed" if commit and _git("status", "--porcelain", "--untracked-files=no") else commit


def _git(*words: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(_ROOT), *words], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
