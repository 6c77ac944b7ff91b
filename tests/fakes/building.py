"""Builds the wheel and the sdist where only hatchling is installed, as `pipx install` and `uv` do."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def build(folder: Path, target: str, *, source: Path = REPOSITORY, env: Mapping[str, str] | None = None) -> Path:
    """Build into `folder`, and return the file. `target`: `wheel` or `sdist`."""
    made = folder / target
    environment = {**os.environ, **(env or {})}
    subprocess.run(
        [*bare_hatchling(folder / "hatchling"), "-t", target, "-d", str(made)], cwd=source, env=environment, check=True
    )
    (path,) = made.iterdir()
    return path


def bare_hatchling(folder: Path) -> list[str]:
    """Return the command that builds with hatchling and what it needs, and no other package."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("hatchling", "packaging", "pathspec", "pluggy", "trove_classifiers"):
        found = importlib.util.find_spec(name)
        assert found is not None and found.origin is not None
        place = Path(found.origin)
        link = folder / (name if place.name == "__init__.py" else place.name)
        if not link.exists():
            link.symlink_to(place.parent if place.name == "__init__.py" else place)
    start = f"import sys; sys.path.insert(0, {str(folder)!r}); from hatchling.cli import hatchling; hatchling()"
    return [sys.executable, "-I", "-S", "-c", start, "build"]
