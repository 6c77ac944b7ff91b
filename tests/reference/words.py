"""Texts of the reference that the program does not have."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

WORDS: dict[str, Any] = tomllib.loads((Path(__file__).parent / "words.toml").read_text(encoding="utf-8"))


def head(page: str, **values: str) -> list[str]:
    """Return the first lines of a page: its title and what it is about, with a blank line after it."""
    text: str = WORDS["heads"][page]
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return [*text.strip().splitlines(), ""]
