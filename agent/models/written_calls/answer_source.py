"""Read the text of an answer while it arrives.

Each reading function is a generator: it yields while it needs more text, and returns the result. Text is consumed
as soon as it is read, so a long call in small pieces costs linear time.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Generator
from functools import lru_cache
from typing import TypeAlias, TypeVar

from .call_tags import DSML, is_about_calls

_T = TypeVar("_T")
Steps: TypeAlias = Generator[None, None, _T]

LONGEST = 16 * 1024 * 1024
"""Characters of the longest call. A longer one stays text."""
DEEPEST = 256
"""Nesting depth of the deepest call. A deeper one stays text."""
_LONGEST_NAME = 200

_SPACE = re.compile(r"[ \t\r\n]*")
_NEWLINES = re.compile(r"[\r\n]*")
_WORD = re.compile(r"[\w.:/-]*")
_BARE = re.compile(r"[^,}\]\n]*")
_BRACKET = re.compile(r'["{}\[\]]')
_STRING_MARK = re.compile(r'["\\]')
_SPACES = re.compile(" +")
_ATTRIBUTE = re.compile(r"""[^\s>/"'=<]*""")
_TAG = re.compile(rf"<(?:{DSML})?[A-Za-z][\w:.-]*")
_CLOSING_TAG = re.compile(rf"</(?:{DSML})?[A-Za-z][\w:.-]*\s*>?")
_LONGEST_TAG = 80


class NotACall(Exception):
    """The text only looked like a call."""


class Source:
    """Text that is read from the front and may grow at the end."""

    def __init__(self) -> None:
        self._text = ""
        self._at = 0
        self._ended = False
        self._taken: list[str] | None = None
        self._size = 0
        self.unescaped = False
        """Whether, since `mark`, a value was read whose end is uncertain: its format cannot escape the closing tag."""

    def add(self, text: str) -> None:
        """Append text that has just arrived."""
        self._text = self._text[self._at :] + text
        self._at = 0

    def end(self) -> None:
        """Note that nothing more arrives."""
        self._ended = True

    @property
    def ended(self) -> bool:
        """Whether the answer has ended, so that no more text arrives."""
        return self._ended

    def mark(self) -> None:
        """Record everything read from here on, for `release`."""
        self._taken, self._size, self.unescaped = [], 0, False

    def release(self) -> str:
        """Return what was read since `mark`, and stop recording."""
        taken, self._taken = self._taken or [], None
        return "".join(taken)

    def text(self, stop: re.Pattern[str]) -> str:
        """Consume at least one character: spaces, or the text before the next `stop` or through the line end."""
        if found := _SPACES.match(self._text, self._at):
            return self._take(found.end() - self._at)
        found = stop.search(self._text, self._at + (self._text[self._at] != "\n"))
        if found is None:
            return self._take(len(self._text) - self._at)
        return self._take((found.end() if found.group() == "\n" else found.start()) - self._at)

    def stream_until(self, close: str) -> tuple[str, bool]:
        """Consume the arrived text before `close`; True when `close` was reached and consumed."""
        found = self._text.find(close, self._at)
        if found >= 0:
            text = self._take(found - self._at)
            self._take(len(close))
            return text, True
        kept = 0 if self._ended else _overlap(self._text, self._at, close)
        return self._take(len(self._text) - self._at - kept), False

    def more(self) -> Steps[bool]:
        """Wait for a character; False at the end of the answer."""
        while self._at >= len(self._text):
            if self._ended:
                return False
            yield
        return True

    def peek(self) -> Steps[str]:
        """Return the next character without consuming it; empty at the end of the answer."""
        return self._text[self._at] if (yield from self.more()) else ""

    def match(self, options: Collection[str]) -> Steps[str]:
        """Consume the longest option that the text continues with; return it, or an empty text if there is none."""
        return self._take(len((yield from self.sees(options))))

    def sees(self, options: Collection[str]) -> Steps[str]:
        """Return the longest option that the text continues with, without consuming it; empty if there is none."""
        pattern, prefixes, longest = _compiled(tuple(options))
        while not self._ended and len(self._text) - self._at < longest and self._text[self._at :] in prefixes:
            yield
        found = pattern.match(self._text, self._at)
        return found.group() if found else ""

    def call_tag(self, *, closing: bool = False) -> Steps[str]:
        """Consume `<name`, or `</name>` if `closing`, if the name is about calls. Return the name or an empty text."""
        pattern, begin = (_CLOSING_TAG, f"</{DSML}") if closing else (_TAG, f"<{DSML}")
        while True:
            seen = self._text[self._at : self._at + _LONGEST_TAG]
            found = pattern.match(seen)
            is_open = begin.startswith(seen) if found is None else found.end() == len(seen) and seen[-1] != ">"
            if self._ended or not is_open or len(seen) == _LONGEST_TAG:
                break
            yield
        if found is None or (closing and found.group()[-1] != ">"):
            return ""
        name = found.group().strip("</ \t\r\n>")
        return name if is_about_calls(name) and self._take(found.end()) else ""

    def expect(self, *options: str) -> Steps[str]:
        """Consume one of the options. Raises NotACall if the text continues with none of them."""
        found = yield from self.match(options)
        if not found:
            raise NotACall
        return found

    def space(self) -> Steps[str]:
        """Consume white space and return it."""
        return (yield from self._run(_SPACE))

    def newlines(self) -> Steps[str]:
        """Consume line ends and return them."""
        return (yield from self._run(_NEWLINES))

    def word(self) -> Steps[str]:
        """Consume a name. Raises NotACall if it is empty or longer than a name can be."""
        word = yield from self._run(_WORD, longest=_LONGEST_NAME)
        if not word:
            raise NotACall
        return word

    def attribute(self) -> Steps[str]:
        """Consume an attribute's value that has no quotes. Raises NotACall if it is empty or too long."""
        text = yield from self._run(_ATTRIBUTE, longest=_LONGEST_NAME)
        if not text:
            raise NotACall
        return text

    def quoted(self, quote: str) -> Steps[str]:
        """Consume the text up to and including the next `quote` without a backslash. Raises NotACall without one."""
        pieces = [(yield from self.until(quote))]
        while (len(pieces[-1]) - len(pieces[-1].rstrip("\\"))) % 2:
            pieces.append((yield from self.until(quote)))
        return quote.join(pieces)

    def bare(self) -> Steps[str]:
        """Consume the text before a comma, a closing bracket or a line end."""
        return (yield from self._run(_BARE, longest=_LONGEST_NAME))

    def short(self, close: str) -> Steps[str]:
        """Consume the text up to and including `close` on this line. Raises NotACall if the line has no `close`."""
        while True:
            seen = self._text[self._at : self._at + _LONGEST_NAME]
            text, found, _ = seen.partition(close)
            if found and "\n" not in text:
                self._take(len(text) + len(close))
                return text
            if self._ended or "\n" in text or len(seen) == _LONGEST_NAME:
                raise NotACall
            yield

    def until(self, close: str) -> Steps[str]:
        """Consume the text up to and including `close`. Raises NotACall if the answer ends before it."""
        pieces: list[str] = []
        while True:
            text, reached = self.stream_until(close)
            pieces.append(text)
            if reached:
                return "".join(pieces)
            if self._ended:
                raise NotACall
            yield

    def value(self, close: str, followers: Collection[str]) -> Steps[tuple[str, str]]:
        """Consume an unescaped value, its closing tag and the tag that follows. Return the value and the following tag.

        The closing tag ends the value only before one of the followers; anywhere else it is part of the value.
        """
        self.unescaped = True
        pieces: list[str] = []
        while True:
            pieces.append((yield from self.until(close)))
            gap = yield from self.space()
            if follower := (yield from self.match(followers)):
                return "".join(pieces), follower
            pieces += (close, gap)

    def json(self, begun: str = "") -> Steps[str]:
        """Consume one JSON object or array. `begun`: its first characters (brackets and a key), if already read."""
        depth, in_string, escaped = begun.count("{") + begun.count("["), False, False
        if not depth and (yield from self.peek()) not in ("{", "["):
            raise NotACall
        pieces = [begun]
        while True:
            at, end = self._at, len(self._text)
            while at < end:
                if escaped:
                    escaped, at = False, at + 1
                    continue
                found = (_STRING_MARK if in_string else _BRACKET).search(self._text, at)
                if found is None:
                    break
                character, at = found.group(), found.end()
                if character == '"':
                    in_string = not in_string
                elif character == "\\":
                    escaped = True
                else:
                    depth += 1 if character in "{[" else -1
                    if depth > DEEPEST:
                        raise NotACall
                    if depth == 0:
                        pieces.append(self._take(at - self._at))
                        return "".join(pieces)
            pieces.append(self._take(end - self._at))
            if not (yield from self.more()):
                raise NotACall

    def _run(self, pattern: re.Pattern[str], *, longest: int = LONGEST) -> Steps[str]:
        pieces: list[str] = []
        size = 0
        while True:
            found = pattern.match(self._text, self._at)
            text = self._take(found.end() - self._at) if found else ""
            pieces.append(text)
            size += len(text)
            if size > longest:
                raise NotACall
            if self._at < len(self._text) or not (yield from self.more()):
                return "".join(pieces)

    def _take(self, size: int) -> str:
        text = self._text[self._at : self._at + size]
        self._at += size
        if self._taken is not None:
            self._taken.append(text)
            self._size += size
            if self._size > LONGEST:
                raise NotACall
        return text


@lru_cache(maxsize=256)
def _compiled(options: tuple[str, ...]) -> tuple[re.Pattern[str], frozenset[str], int]:
    """Return a pattern for the options, every proper prefix of an option, and the length of the longest option."""
    ordered = sorted(options, key=len, reverse=True)
    prefixes = frozenset(option[:size] for option in options for size in range(len(option)))
    return re.compile("|".join(map(re.escape, ordered))), prefixes, len(ordered[0])


def _overlap(text: str, start: int, tag: str) -> int:
    """Return how many characters at the end of the text may begin the tag."""
    longest = min(len(tag) - 1, len(text) - start)
    return next((n for n in range(longest, 0, -1) if text.endswith(tag[:n])), 0)
