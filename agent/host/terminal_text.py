"""Convert a command's terminal output to plain text."""

from __future__ import annotations

import re

_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")


def plain(text: str) -> str:
    """Remove terminal sequences, and keep only the last state of an overwritten line. Takes linear time."""
    text = _SEQUENCES.sub("", text).replace("\r\n", "\n")
    return text if "\r" not in text else "\n".join(map(_last_state, text.split("\n")))


def _last_state(line: str) -> str:
    return line[line.rstrip("\r").rfind("\r") + 1 :]
