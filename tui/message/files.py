"""The workspace's files, for `@`: what is ignored is left out. No textual in here."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from rundry.agent import Ignore

MOST = 20_000


def list_files(root: Path, most: int = MOST) -> list[str]:
    """Paths relative to `root`, at most so many."""
    return [path for path, _ in islice(Ignore(root).walk(), most)]
