"""Decode file bytes to text, so that a changed text keeps its encoding, byte order mark and line endings."""

from __future__ import annotations

import codecs
import re
from typing import Literal, NamedTuple

Newline = Literal["\n", "\r\n", "\r", "mixed", ""]
"""The line ending of a text, or empty if it has no line ending."""
_ENDS: tuple[Newline, ...] = ("\r\n", "\r")

_MARKS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_BEYOND_ASCII = re.compile("[^\x00-\x7f\ud800-\udfff]")
_STRAY = re.compile("[\udc80-\udcff]")
_LINE_END = re.compile(r"\r\n|\r|\n")
_BARE_END = re.compile(r"(?<!\r)\n")


class TextFormat(NamedTuple):
    """Encoding, byte order mark and line ending of a file. An empty encoding: the bytes are not text."""

    encoding: str
    bom: bytes
    newline: Newline


def text_format_of(data: bytes) -> TextFormat:
    """Detect the encoding with which the bytes can be decoded and encoded without a change."""
    for mark, encoding in _MARKS:
        if data.startswith(mark) and (text := _decoded(data[len(mark) :], encoding)) is not None:
            return TextFormat(encoding, mark, newline_of(text))
    if b"\0" in data:
        return TextFormat("", b"", "")
    text = _decoded(data, "utf-8")
    if text is not None:
        return TextFormat("utf-8", b"", newline_of(text))
    if _CONTROLS.search(data):
        return TextFormat("", b"", "")
    for encoding in ("cp1252", "latin-1"):
        if (text := _decoded(data, encoding)) is not None:
            return TextFormat(encoding, b"", newline_of(text))
    return TextFormat("", b"", "")


def stray_byte(data: bytes) -> tuple[int, int] | None:
    """Return line (1-based) and value of the first invalid byte in UTF-8 text.

    Returns None if the text is valid, or not UTF-8. Such a file mixes encodings, so no encoding is right for added
    text.
    """
    if not data or _decoded(data, "utf-8") is not None:
        return None
    text = data.decode("utf-8", "surrogateescape")
    if not _BEYOND_ASCII.search(text):
        return None
    found = _STRAY.search(text)
    return None if found is None else (text.count("\n", 0, found.start()) + 1, ord(found[0]) - 0xDC00)


def newline_of(text: str) -> Newline:
    """Return the line ending that all lines use, `mixed`, or an empty string if there is none."""
    if "\r" not in text:
        return "\n" if "\n" in text else ""
    ends = set(_LINE_END.findall(text))
    for end in _ENDS:
        if ends == {end}:
            return end
    return "mixed"


def with_newline(text: str, newline: Newline) -> str:
    r"""Replace each bare `\n` by this line ending. With `mixed`, the text is not changed."""
    if newline not in ("\r\n", "\r") or "\n" not in text:
        return text
    return _BARE_END.sub(newline, text)


def _decoded(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None
