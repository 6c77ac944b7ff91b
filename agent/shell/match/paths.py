"""Find the files that a command line may name."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ...system.real_paths import real_path

if TYPE_CHECKING:
    from ..command_line import Line


def named_paths(line: Line, root: Path) -> list[str]:
    """Return all words that may be paths below the workspace, as written and with links resolved."""
    paths: dict[str, None] = {}
    folders = [root, *(root / part.texts[1] for part in line.parts if part.name == "cd" and len(part.words) == 2)]
    words = [text for part in line.parts for word in part.texts[1:] for text in _pieces(word) if text]
    for word in (word for word in (*words, *line.writes) if "\0" not in word):
        for folder in folders:
            for place in (Path(os.path.normpath(folder / word)), real_path(folder / word)):
                if place != root and place.is_relative_to(root):
                    paths[place.relative_to(root).as_posix()] = None
    return list(paths)


def _pieces(word: str) -> list[str]:
    """Return the word and its parts that could be paths: `--file=x`, `-fx`, `@x`, `host:x`."""
    joined = [word[2:]] if word.startswith("-") and not word.startswith("--") else []
    return [word, word.partition("=")[2], *joined, *(re.split(r"[=:@,]", word)[1:])]
