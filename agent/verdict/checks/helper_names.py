"""Distinguish the modules of a check from the code under test by their names."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

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
