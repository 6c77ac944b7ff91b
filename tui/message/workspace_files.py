"""List the files of the workspace that are not ignored, for completion after `@`. Does not import textual."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from rundry.agent import Ignore

MOST = 20_000


def list_files(root: Path, most: int = MOST) -> list[str]:
    """Return the paths relative to `root`, at most `most`."""
    return [path for path, _ in islice(Ignore(root).walk(), most)]
