"""A parsed command line: its plain commands, and why it cannot be judged."""

from __future__ import annotations

import msgspec


class Word(msgspec.Struct, frozen=True):
    """One word of a plain command."""

    text: str
    """Text without quotes; of an unknown word, the part that can be read."""
    known: bool = True
    """The command receives exactly `text`."""
    pattern: bool = False
    """An unquoted glob: it becomes file names that begin like `text` up to its first `*`, `?` or `[`."""
    echoable: bool = False
    """Unknown, but made only of variables or the output of commands that are judged separately."""


class Part(msgspec.Struct, frozen=True):
    """One plain command: its words as bash passes them."""

    words: tuple[Word, ...]
    piped: bool = False
    """It may read the output of another command."""
    then: bool = False
    """It is first in the line, and the rest runs only if it succeeds (`&&`)."""
    start: int = 0

    @property
    def name(self) -> str:
        """Name of the program as written."""
        return self.words[0].text if self.words else ""

    @property
    def is_known(self) -> bool:
        """Whether the command receives each word exactly as it is here."""
        return all(word.known and not word.pattern for word in self.words)

    @property
    def texts(self) -> list[str]:
        """All words as plain text."""
        return [word.text for word in self.words]


class Line(msgspec.Struct):
    """Effects of a command line, as far as they can be parsed."""

    parts: list[Part] = []
    doubts: list[str] = []
    """Why rules cannot judge the line; empty: all of it was understood."""
    writes: list[str] = []
    """Files that the line redirects output to."""
    parse_error: str | None = None
    """Why nothing is known of the line: the process that parses lines failed. Then it asks in every mode."""
