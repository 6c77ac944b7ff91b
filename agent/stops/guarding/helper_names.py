"""Distinguish the modules of a check from the code under test by their names."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from ...system.plain_files import walk_folders
from ...workspace.seals.names import SKIPPED

_VENV = "pyvenv.cfg"
"""File that marks a Python environment. The tests of its packages are not the project's."""
_MOST_FILES = 100_000
"""Most files that are searched for tests."""

_HELPER = re.compile(
    r"(^|_)(tests?|testing|testutils?|specs?|checks?|checker|checking|verif\w*|judg\w*|assert\w*|oracle|expect\w*"
    r"|golden|scorer|scoring|grader|grading|fixtures?|helpers?|harness|conftest|mocks?|validat\w*|smoke|accept\w*"
    r"|regress\w*|audit\w*|bench\w*|measur\w*)(_|\d|$)",
    re.IGNORECASE,
)
"""Names of modules that usually belong to a check."""
_FOLDERS = re.compile(
    r"\.?(tests?|testing|specs?|__tests__|checks?|ci|scripts?|tools?|e2e|qa|bench|benchmarks?|fixtures)(/|$)",
    re.IGNORECASE,
)
"""Names of folders in the root that usually belong to a check."""

_TEST_FOLDERS = re.compile(
    r"(tests?|specs?|__tests__|__mocks__|__fixtures__|e2e|test[-_]?(utils?|helpers?|support))$", re.I
)
"""Names of folders, at any depth, that contain only tests and files for tests."""
_TEST_HELPER = re.compile(
    r"(^|[_.-])(tests?|testing|testutils?|specs?|assert\w*|expect\w*|golden|fixtures?|helpers?|harness|conftest|mocks?)"
    r"([_.-]|\d|$)",
    re.IGNORECASE,
)
_TEST_FILE = re.compile(r"(test_.*|.*_test|.*\.(test|spec)|conftest|.*_spec)$", re.IGNORECASE)
_CODE = (".py", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".rb", ".php")


def is_test(file: str) -> bool:
    """Return whether a test runner's discovery would use this file as a test or as part of one."""
    path = PurePosixPath(file)
    return path.suffix in _CODE and (bool(_TEST_FILE.match(path.stem)) or in_test_folder(file))


def in_test_folder(file: str) -> bool:
    """Return whether the file is in a folder for tests."""
    return any(_TEST_FOLDERS.match(part) for part in PurePosixPath(file).parts[:-1])


def is_test_helper(file: str, test: str) -> bool:
    """Return whether a module that a test imports belongs to the tests. Code under test is often next to its test."""
    is_beside = PurePosixPath(file).parent == PurePosixPath(test).parent
    return in_test_folder(file) or (is_beside and bool(_TEST_HELPER.search(PurePosixPath(file).name.partition(".")[0])))


def is_helper(file: str, script: str, root: Path) -> bool:
    """Return whether a module that a script of the check imports belongs to the check, not to the code under test."""
    folder, place = str(PurePosixPath(script).parent), str(PurePosixPath(file).parent)
    stem = PurePosixPath(file).name.partition(".")[0]
    if _FOLDERS.match(file):
        return True
    if folder == ".":
        return place == "." and bool(_HELPER.search(stem))
    if place != folder and not place.startswith(f"{folder}/"):
        return False
    return not (root / folder / "__init__.py").exists() or bool(_FOLDERS.match(folder) or _HELPER.search(stem))


def test_files(root: Path) -> list[str]:
    """Return the tests of a workspace, as sorted paths relative to it. Python environments are left out."""
    found: list[str] = []
    count, start = 0, len(str(root)) + 1
    for top, folders, files in walk_folders(root):
        is_installed = _VENV in files
        folders[:] = [] if is_installed else [name for name in folders if name not in SKIPPED]
        if is_installed:
            continue
        below = f"{top[start:]}/" if len(top) > start else ""
        found += [path for name in files if is_test(path := below + name)]
        count += len(files)
        if count > _MOST_FILES:
            break
    return sorted(found)
