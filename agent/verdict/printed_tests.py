"""Find the places of tests in the output of a check."""

from __future__ import annotations

import os
import re

from .names import printed


def printed_tests(output: str, doctests: bool = False) -> set[str]:
    """Return the files in which runners say that a test lies, as they write them, without `./`.

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
                found.add(os.path.normpath(groups["path"]))
    return found


def _is_certain(groups: dict[str, str | None]) -> bool:
    """Return whether the name of the test is not that of a documented object: `calc.py::test_add`."""
    return re.match(r"(.*::)?[Tt]est", groups.get("name") or "") is not None
