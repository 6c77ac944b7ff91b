"""Folders that a sandbox shows, and a PATH without bubblewrap."""

from __future__ import annotations

from pathlib import Path

_TEMPORARY = (Path("/tmp"), Path("/var/tmp"), Path("/run"))


def visible_folder(root: Path) -> Path:
    """A folder that a sandbox shows as it is: the checkout, or, where that lies in a temp folder, the home."""
    real = root.resolve()
    return Path.home() if any(real.is_relative_to(folder) for folder in _TEMPORARY) else real


def path_without_bubblewrap(folder: Path, path: str) -> str:
    """A PATH on which there is everything but bubblewrap. `folder` is made for it."""
    folder.mkdir()
    for above in path.split(":"):
        for program in sorted(Path(above).iterdir()) if Path(above).is_dir() else ():
            if program.name != "bwrap" and not (folder / program.name).exists():
                (folder / program.name).symlink_to(program)
    return str(folder)
