"""Redact a text that arrives in pieces: find out what can be shown before the rest is known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .key_patterns import HEADS, LONGEST_HEAD

if TYPE_CHECKING:
    from .redact import Redactor

LONGEST_HELD = 16_384
"""Maximum number of characters to hold back while a possible key continues."""

_WORD = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
_KEY_BODY = re.compile(r"[A-Za-z0-9_.+/=-]*")
_PEM_HEAD = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY-----")
_PEM_HEAD_OPENS = re.compile(r"-----BEGIN[A-Z0-9 ]{0,45}-{0,5}\Z|-{1,5}(?:B(?:E(?:GI?)?)?)?\Z")
_URL_SETTLED = re.compile(r"[\s/@]")
_LONGEST_USER = 780
"""Maximum number of characters of `user:password` in a URL to wait for."""


class StreamRedactor:
    """Hides keys in a text that arrives in pieces, even a key that is split across pieces.

    The end of the text, usually the last word, is held back as long as it may become a key.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor, self._values = redactor, redactor.values
        values = self._values
        self._longest = max(map(len, values), default=0)
        starts = "|".join(sorted({re.escape(value[:3]) for value in values}))
        self._starts = re.compile(f"(?={starts})") if values else None
        self._held = ""
        self._before = ""
        self._in_key = False

    def feed(self, text: str) -> str:
        """Add text; return everything that can be shown now and was not returned before."""
        text = self._held + text
        cut = self._unsettled(text)
        is_too_long = len(text) - cut > LONGEST_HELD
        if is_too_long:
            cut = len(text)
        self._held = text[cut:]
        shown = self._show(text[:cut])
        self._in_key = self._in_key or (is_too_long and shown.endswith("*"))
        return shown

    def flush(self) -> str:
        """Return what was held back, because the text ended or pauses."""
        text, self._held = self._held, ""
        shown = self._show(text)
        self._before, self._in_key = "", False
        return shown

    def _show(self, text: str) -> str:
        if not text:
            return ""
        body = _KEY_BODY.match(text) if self._in_key else None
        inside = body.end() if body is not None else 0  # a key that was too long to hold back continues
        self._in_key = self._in_key and inside == len(text)
        hidden = self._redactor(self._before + text)[len(self._before) :]
        self._before = self._redactor.known(self._before + text)[
            -LONGEST_HEAD - 1 :
        ]  # the preceding text decides where a word begins
        return "*" * inside + hidden[inside:]

    def _unsettled(self, text: str) -> int:
        """Return the index from which the text may still become a key, or its length."""
        raw, text = text, self._redactor.known(text)  # a word, and a key, can begin right after a known value
        cut = min(self._open_word(text), _open_url(text), _open_pem(text), self._open_value(raw))
        return len(text[:cut].rstrip(_WORD)) if cut < len(text) else cut  # do not split a word

    def _open_word(self, text: str) -> int:
        start = len(text.rstrip(_WORD))
        word = text[start:]
        if len(word) <= LONGEST_HEAD or any(head in word for head in HEADS):
            return start
        dot = word.rfind(".") + 1
        return start + dot if dot and len(word) - dot <= LONGEST_HEAD else len(text)

    def _open_value(self, text: str) -> int:
        if self._starts is None:
            return len(text)
        tail = max(0, len(text) - self._longest + 1)
        places = [m.start() for m in self._starts.finditer(text, tail)]
        places += range(max(tail, len(text) - 2), len(text))
        return next((i for i in places if any(value.startswith(text[i:]) for value in self._values)), len(text))


def _open_url(text: str) -> int:
    start = text.rfind("://")
    if start >= 0 and len(text) - start < _LONGEST_USER and not _URL_SETTLED.search(text, start + 3):
        return start
    return len(text.removesuffix(":/").removesuffix(":"))


def _open_pem(text: str) -> int:
    if "-" not in text:
        return len(text)
    ended = text.rfind("-----END ") + 1
    opened = _PEM_HEAD.search(text, ended) or _PEM_HEAD_OPENS.search(text, ended)
    return opened.start() if opened is not None else len(text)
