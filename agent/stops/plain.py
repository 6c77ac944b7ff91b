"""What a command printed, as it would stand at last on paper."""

from __future__ import annotations

import re

_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")


def plain(text: str) -> str:
    """Without terminal sequences, and of a line that was drawn over only its last state. Linear in time."""
    text = _SEQUENCES.sub("", text).replace("\r\n", "\n")
    return text if "\r" not in text else "\n".join(map(_last_state, text.split("\n")))


def _last_state(line: str) -> str:
    return line[line.rstrip("\r").rfind("\r") + 1 :]
