"""The walks through the code in `docs/architecture.md`: headings `Walk: ...` with a numbered list of files."""

from __future__ import annotations

import re
from pathlib import Path

from .source import Place

PAGE = "docs/architecture.md"
HEADING = re.compile(r"#+ +Walk: *(.*)")
ITEM = re.compile(r"\d+[.)] .*?`([^`]+)`")


def walks(root: Path) -> dict[str, list[Place]]:
    """Return the files of each walk by its title. Empty while the page does not exist."""
    page = root / PAGE
    found: dict[str, list[Place]] = {}
    title = None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines() if page.exists() else [], 1):
        if line.startswith("#"):
            heading = HEADING.match(line)
            title = heading[1] if heading else None
        elif title is not None and (item := ITEM.match(line)):
            found.setdefault(title, []).append(Place(PAGE, number, item[1]))
    return found
