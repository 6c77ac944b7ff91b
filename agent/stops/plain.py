"""What a command printed, as it would stand at last on paper."""

from __future__ import annotations

import re

_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_DRAWN_OVER = re.compile(r"[^\n]*\r(?=[^\n])")


def plain(text: str) -> str:
    """Without terminal sequences, and of a line that was drawn over only its last state."""
    return _DRAWN_OVER.sub("", _SEQUENCES.sub("", text).replace("\r\n", "\n"))
