"""Names that tell the modules of a check from the code under test."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

_HELPER = re.compile(
    r"(^|_)(tests?|testing|testutils?|specs?|checks?|checker|checking|verif\w*|judg\w*|assert\w*|oracle|expect\w*"
    r"|golden|scorer|scoring|grader|grading|fixtures?|helpers?|harness|conftest|mocks?|validat\w*|smoke|accept\w*"
    r"|regress\w*|audit\w*|bench\w*|measur\w*)(_|\d|$)",
    re.IGNORECASE,
)
"""Names of modules that speak of a check and not of the work."""
_FOLDERS = re.compile(
    r"\.?(tests?|testing|specs?|__tests__|checks?|ci|scripts?|tools?|e2e|qa|bench|benchmarks?|fixtures)(/|$)",
    re.IGNORECASE,
)
"""Names of folders in the root that do."""


def is_helper(file: str, script: str, root: Path) -> bool:
    """Whether a module that a script of the check imports belongs to the check, and not to the code under test."""
    folder, place = str(PurePosixPath(script).parent), str(PurePosixPath(file).parent)
    stem = PurePosixPath(file).name.partition(".")[0]
    if _FOLDERS.match(file):
        return True
    if folder == ".":
        return place == "." and bool(_HELPER.search(stem))
    if place != folder and not place.startswith(f"{folder}/"):
        return False
    return not (root / folder / "__init__.py").exists() or bool(_FOLDERS.match(folder) or _HELPER.search(stem))
