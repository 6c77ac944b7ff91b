"""Decide where a call may begin: at the beginning of a line or after a sentence, and never in code."""

from __future__ import annotations

import re

from .call_tags import ends_with_call_tag

_HEAD, _TAIL = 120, 16
"""Characters that are kept of the current line's beginning and end."""
_FENCE = re.compile(r"[ \t>]*(?:[-*+]|\d+[.)])?[ \t]*(`{3,}|~{3,})")
_CLOSING = re.compile(r"[ \t>]*(`{3,}|~{3,})[ \t\r]*")
_CODE_OR_QUOTE = (" " * 4, "\t", ">")
_BOUNDARY = (".", "!", "?", ":", "…", "。", "！", "？", "：", "</think>", "[/THINK]")


class Position:
    """Tracks the position in the Markdown after the shown text."""

    def __init__(self) -> None:
        self._fence = ""
        """The characters that opened the code fence; empty outside a fence."""
        self._head = self._tail = ""
        self._last = ""
        """The end of the text, without trailing white space."""
        self._size = self._ticks = 0

    def advance(self, text: str) -> None:
        """Move the position past a piece of text that was shown."""
        if seen := text.rstrip():
            self._last = (self._last + seen[-_HEAD:])[-_HEAD:]
        *lines, last = text.split("\n")
        for line in lines:
            self._grow(line)
            self._end_line()
        self._grow(last)

    @property
    def in_fence(self) -> bool:
        """Whether the position is inside a code fence."""
        return bool(self._fence)

    @property
    def at_line_start(self) -> bool:
        """Whether the position begins a line that is not code; Markdown allows three spaces of indentation."""
        return not self._fence and len(self._head) <= 3 and not self._head.strip(" ")

    @property
    def may_begin(self) -> bool:
        """Whether a call may begin here.

        Within a line, a call may begin only directly after the end of a sentence, as in templates without line ends.
        A tag that prose only mentions follows a space, a quote or a backtick.
        """
        if self.at_line_start:
            return True
        if self._fence or self._ticks % 2 or self._head.startswith(_CODE_OR_QUOTE) or _FENCE.match(self._head):
            return False
        return self._tail.endswith(_BOUNDARY)

    def follows(self, tags: tuple[str, ...]) -> bool:
        """Whether only white space is between one of the tags, or one that is about calls, and this position."""
        return self._last.endswith(tags) or ends_with_call_tag(self._last)

    def _grow(self, text: str) -> None:
        self._size += len(text)
        self._ticks += text.count("`")
        self._head += text[: _HEAD - len(self._head)]
        self._tail = (self._tail + text[-_TAIL:])[-_TAIL:]

    def _end_line(self) -> None:
        if self._fence:
            mark = _CLOSING.fullmatch(self._head) if self._size <= _HEAD else None
            if mark and mark[1].startswith(self._fence):
                self._fence = ""
        elif (mark := _FENCE.match(self._head)) and (mark[1][0] == "~" or self._ticks == len(mark[1])):
            # A line with more backticks than those at its beginning holds inline code.
            self._fence = mark[1]
        self._head = self._tail = ""
        self._size = self._ticks = 0
