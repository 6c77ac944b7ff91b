"""Find the places of tests in the output of a check."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

from .names import printed


def printed_tests(output: str, root: Path, *, doctests: bool = False) -> set[str]:
    """Return the files in which runners say that a test lies, relative to the workspace.

    `doctests`: the check also runs the examples in docstrings, which do not make a file a test.
    """
    found = set[str]()
    for pattern in printed():
        for match in pattern.finditer(output):
            groups = match.groupdict()
            if groups.get("module"):
                parts = groups["module"].split(".")
                found.update("/".join(parts[: count + 1]) + ".py" for count in range(len(parts)))
            elif not doctests or _is_certain(groups):
                path = os.path.relpath(os.path.normpath(root / groups["path"]), root)
                found.add(PurePosixPath(path).as_posix())
    return {path for path in found if not path.startswith("..")}


def _is_certain(groups: dict[str, str | None]) -> bool:
    """Return whether the name of the test is not that of a documented object: `calc.py::test_add`."""
    return re.match(r"(.*::)?[Tt]est", groups.get("name") or "") is not None
