"""Find the folders in a workspace whose programs also run outside of the sandbox: those of PATH, and rundry's own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ..host.real_paths import is_folder
from .sandbox_mounts import CODE


def program_places(ws: Path, path: str | None = None) -> list[Path]:
    """Return the folders in the workspace whose programs also run outside, with links resolved.

    The workspace itself is never one of them. `path`: the value of PATH; by default that of this process.
    """
    entries = [entry for entry in (path or os.environ.get("PATH", "")).split(os.pathsep) if entry]
    folders = [ws / entry for entry in entries]
    folders += [Path(sys.prefix), *CODE]
    real = {Path(os.path.realpath(folder)) for folder in folders}
    return sorted(place for place in real if place != ws and place.is_relative_to(ws) and is_folder(place))
