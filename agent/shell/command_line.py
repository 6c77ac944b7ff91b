"""A parsed command line: its plain commands, and the reasons why rules cannot judge it."""

from __future__ import annotations

import msgspec


class Word(msgspec.Struct, frozen=True):
    """One word of a plain command."""

    text: str
    """The text without quotes; for an unknown word, as much of it as can be read."""
    known: bool = True
    """Whether the command receives exactly `text`."""
    pattern: bool = False
    """Whether it is an unquoted glob, which expands to file names that begin like `text` up to the first wildcard."""
    echoable: bool = False
    """Whether it is unknown but consists only of variables, or of the output of commands that are judged separately."""


class PlainCommand(msgspec.Struct, frozen=True):
    """One plain command: its words as bash passes them."""

    words: tuple[Word, ...]
    piped: bool = False
    """Whether it may read the output of another command."""
    then: bool = False
    """Whether it is the first in the line and the rest runs only if it succeeds (`&&`)."""
    start: int = 0
    """Offset of its first byte in the line."""

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


class ParsedLine(msgspec.Struct):
    """The commands and effects of a command line, as far as they can be parsed."""

    parts: list[PlainCommand] = []
    doubts: list[str] = []
    """Reasons why rules cannot judge the line. Empty means that all of it was understood."""
    writes: list[str] = []
    """Files that the line redirects output to."""
    parse_error: str | None = None
    """Why the line could not be parsed at all. Such a line asks in every mode."""
