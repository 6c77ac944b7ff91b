"""The new text of a proposal as a person edits it: its mark and its line ends stay. No textual in here."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rundry.agent import UserError

_BOM = "\ufeff"
_MARKS = re.compile(r"^(?:<{7}|>{7})(?: |$)", re.M)


@dataclass(frozen=True, slots=True)
class Editable:
    """A text, taken out of its bytes."""

    text: str
    """Without the byte order mark."""
    has_mark: bool = False
    crlf: bool = False
    """Every line ends in `\\r\\n`."""

    @property
    def plain_ends(self) -> bool:
        """Its lines all end alike: an editor that knows one kind of line end gives it back as it was."""
        return self.crlf or "\r" not in self.text

    def back(self, edited: str) -> str:
        """What was edited, with this text's line ends: to be shown, and sent."""
        edited = edited.removeprefix(_BOM)
        return re.sub(r"\r?\n", "\r\n", edited) if self.crlf else edited

    def bytes_of(self, edited: str) -> bytes:
        """What would stand in the file."""
        return ((_BOM if self.has_mark else "") + edited).encode()


def opened(data: bytes | None) -> Editable:
    """Raises UserError for what is no UTF-8 text."""
    try:
        text = (data or b"").decode()
    except UnicodeDecodeError:
        raise UserError("this is no UTF-8 text: it cannot be edited here") from None
    if "\0" in text:
        raise UserError("this is binary: it cannot be edited")
    feeds = text.count("\n")
    body = text.removeprefix(_BOM)
    return Editable(body, len(body) < len(text), feeds > 0 and text.count("\r\n") == feeds == text.count("\r"))


def first_mark(text: str) -> int | None:
    """The line, from 0, where both versions stand the first time; None: nowhere."""
    found = _MARKS.search(text)
    return None if found is None else text.count("\n", 0, found.start())


def has_conflict_marks(text: str) -> bool:
    """Both versions still stand in it."""
    return _MARKS.search(text) is not None
