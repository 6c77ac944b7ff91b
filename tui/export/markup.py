"""Text of models, files and tools inside of Markdown."""

from __future__ import annotations

import re

from ..text.show_text import one_line, show


def as_code(text: str) -> str:
    """Return a text as Markdown code in one line, so that no character of it is markup."""
    line = one_line(" ".join(text.split()))
    if "`" not in line:
        return f"`{line}`" if line else ""
    ticks = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}" if line else ""


def as_fence(text: str, language: str) -> str:
    """Return a text as a fenced block of Markdown, so that no character of it is markup."""
    shown = show(text).rstrip("\n")
    longest = max((len(run) for run in re.findall("`+", shown)), default=0) if "```" in shown else 0
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{shown}\n{fence}"
