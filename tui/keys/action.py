"""What an action is, and the parts of the screen to which a key can belong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Place = Literal[
    "main", "message", "suggestions", "line", "gate", "board", "rows", "transcript", "scroll", "end",
    "list", "dialog", "sessions", "rewind", "changes", "commit", "leave", "handoff", "replay",
]  # fmt: skip
"""A part of the screen to which a key can belong. `main` is the whole main screen."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something that the person can do. A `table()` in `tui/app/handlers/` has its handler under its name."""

    name: str
    label: str
    """At most three words, shown in the palette and the help."""
    detail: str = ""
    """More about it, shown after the label in the help."""
    keys: str = ""
    """Names that textual uses, comma-separated. The config's `[keys]` remaps them by `name`."""
    takes: str = ""
    """Arguments of the slash command: `NAME VALUE`. A key or the palette then opens the command to be completed."""
    hint: str = ""
    """A short text for the footer."""
    where: Place = "main"
    typed: bool = True
    """Whether there is a slash command."""
    spelled: str = ""
    """The slash command, if it differs from the name. `/wheel` is still accepted for `/control`."""

    @property
    def slash(self) -> str:
        """Return the text after the slash."""
        return self.spelled or self.name
