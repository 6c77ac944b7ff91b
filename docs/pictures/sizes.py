"""The folder, the sizes and the themes in which a script draws its pictures, by the words of its command line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path


def asked_for() -> Iterator[tuple[Path, tuple[int, int], str, str]]:
    """Yield the folder, the size, the theme and the end of the names; `--light` and `--all` ask for more than one."""
    folders = [name for name in sys.argv[1:] if not name.startswith("-")]
    target = Path(folders[0]) if folders else Path(__file__).parent
    yield target, (120, 40), "dark", ""
    if "--light" in sys.argv or "--all" in sys.argv:
        yield target, (120, 40), "light", "-light"
    if "--all" in sys.argv:
        yield target, (80, 24), "dark", "-80x24"
        yield target, (80, 24), "light", "-80x24-light"
