"""Edit the new text of a proposal; its byte order mark and its line ends are kept. Does not import textual."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rundry.agent import UserError

_BOM = "\ufeff"
_MARKS = re.compile(r"^(?:<{7}|>{7})(?: |$)", re.M)


@dataclass(frozen=True, slots=True)
class Editable:
    """A text decoded from bytes, and how to encode it again."""

    text: str
    """The text without its byte order mark."""
    mark: bytes = b""
    encoding: str = "utf-8"
    crlf: bool = False
    """Every line ends in `\r\n`."""

    @property
    def plain_ends(self) -> bool:
        """Whether all lines have the same end, which an editor that knows only one line end then keeps."""
        return self.crlf or "\r" not in self.text

    def back(self, edited: str) -> str:
        """Return an edited text with the line ends of this text, to be shown and sent."""
        edited = edited.removeprefix(_BOM)
        return re.sub(r"\r?\n", "\r\n", edited) if self.crlf else edited

    def bytes_of(self, edited: str) -> bytes:
        """Return the content of the file. Raises UserError for a character that its encoding lacks."""
        try:
            return self.mark + edited.encode(self.encoding)
        except UnicodeEncodeError as error:
            lacking = error.object[error.start]
            raise UserError(f"the encoding of the file, {self.encoding}, has no {lacking!r}: replace it") from None


def opened(data: bytes | None, like: bytes | None = None) -> Editable:
    """Decode `data`, in the encoding of `like` if that is given. Raises UserError if it is not text."""
    from rundry.agent import text_format_of  # the workspace costs some ms to import

    data = data or b""
    form = text_format_of(like or data)
    try:
        text = data.removeprefix(form.bom).decode(form.encoding or "utf-8")
    except UnicodeDecodeError:
        raise UserError("this is not text: it cannot be edited here") from None
    if not form.encoding or "\0" in text:
        raise UserError("this is binary: it cannot be edited")
    feeds = text.count("\n")
    crlf = feeds > 0 and text.count("\r\n") == feeds == text.count("\r")
    return Editable(text, form.bom, form.encoding, crlf)


def first_mark(text: str) -> int | None:
    """Return the first line, from 0, with a conflict marker, or None if there is none."""
    found = _MARKS.search(text)
    return None if found is None else text.count("\n", 0, found.start())


def has_conflict_marks(text: str) -> bool:
    """Return whether the text still contains conflict markers."""
    return _MARKS.search(text) is not None
