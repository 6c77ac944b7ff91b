"""The message of `/init`, which has the model propose an AGENTS.md. Does not import textual."""

from __future__ import annotations

from pathlib import Path

_NAME = "AGENTS.md"
_NEW = f"Write {_NAME} for this folder. It does not exist yet: propose it with one write_file."
_OLD = f"Bring {_NAME} of this folder up to date. Read it first, keep what is still true, and propose edits."
_HOW = """
It tells a coding agent what it must know to work here. Look before you write: the README, the files that configure
build, tests and tools, what runs in CI, and the layout of the sources. Change nothing else. It has at most 60 lines:
- the commands to build, to run all tests and one test, to lint and to check types, exactly as they work here
- where what is, in a few lines
- conventions of this code that a reader would not guess
- what must not be changed, and why
State only what you saw in the files, and leave out what is true of every project."""


def init_message(folder: Path) -> str:
    """Return what is sent to the model in this folder."""
    return (_OLD if (folder / _NAME).is_file() else _NEW) + "\n" + _HOW
