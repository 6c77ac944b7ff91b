"""List the files of the workspace that are not ignored, for completion after `@`. Does not import textual."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from rundry.agent import Ignore

MOST_FILES = 20_000


def list_files(root: Path, limit: int = MOST_FILES) -> list[str]:
    """Return the paths relative to `root`, at most `limit`."""
    return [path for path, _ in islice(Ignore(root).walk(), limit)]
