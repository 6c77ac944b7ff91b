"""Find programs and packages that are installed inside the workspace: virtual environments, `node_modules`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from ...system.plain_files import walk_folders

_MOST = 3_000
"""Most files of one package."""
_PLACES = ("lib/python3*/site-packages", "lib64/python3*/site-packages")


def venvs_of(files: Iterable[str], root: Path) -> set[str]:
    """Return the virtual environments of the workspace that contain these files."""
    found: set[str] = set()
    for file in files:
        for parent in PurePosixPath(file).parents:
            if str(parent) != "." and (root / parent / "pyvenv.cfg").is_file():
                found.add(str(parent))
    return found


def venv_files(venv: str, modules: Iterable[str], root: Path) -> Iterator[str]:
    """Yield a virtual environment's files that affect Python, and the packages of these modules (globs allowed)."""
    yield f"{venv}/pyvenv.cfg"
    for name in ("python", "python3"):
        yield f"{venv}/bin/{name}"
    wanted = list(modules)
    for place in venv_places(venv, root):
        yield from (f"{place}/{name}.py" for name in ("sitecustomize", "usercustomize"))
        try:
            entries = sorted(entry.name for entry in (root / place).iterdir())
        except OSError:
            continue
        for name in entries:
            stem = name.partition(".")[0]
            if any(fnmatchcase(stem, module) for module in wanted):
                yield from tree(f"{place}/{name}", root)


def venv_places(venv: str, root: Path) -> list[str]:
    """Return a virtual environment's folders of installed packages, relative to the workspace."""
    return [place.relative_to(root).as_posix() for pattern in _PLACES for place in (root / venv).glob(pattern)]


def package_files(package: str, folder: str, root: Path) -> list[str]:
    """Return the files of a node package as a script in `folder` finds it, and the paths that would replace it."""
    found: list[str] = []
    here = PurePosixPath(folder)
    for place in (here, *here.parents):
        at = PurePosixPath(place, "node_modules", package)
        if (root / at).is_dir():
            return [*found, *tree(str(at), root)]
        found += [f"{at}/package.json", f"{at}/index.js", f"{at}.js"]
    return found


def package_of(program: Path, root: Path) -> str | None:
    """Return the node package of a program (`node_modules/.bin/x` is a link into it), relative to the workspace."""
    real = Path(os.path.realpath(program))
    for parent in real.parents:
        if (parent / "package.json").is_file() and "node_modules" in parent.parts and parent.is_relative_to(root):
            return parent.relative_to(root).as_posix()
    return None


def tree(path: str, root: Path) -> Iterator[str]:
    """Yield the path itself or at most 3,000 files below it, without bytecode and nested packages."""
    if not (root / path).is_dir():
        yield path
        return
    count = 0
    for top, folders, files in walk_folders(root / path):
        folders[:] = sorted(name for name in folders if name not in ("__pycache__", "node_modules"))
        for name in sorted(files):
            count += 1
            if count > _MOST:
                return
            yield Path(top, name).relative_to(root).as_posix()
