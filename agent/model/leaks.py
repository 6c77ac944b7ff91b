"""Small local models leak `<think>` and `<tool_call>` as text: reads them, where the user opted in.

A `<think>` counts only as the very beginning of the answer, a `<tool_call>` only as the beginning of a line outside
of a code fence, around one JSON object that names a tool on offer. Everything else stays the text that it is.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

import msgspec

from ..protocol import ReasoningPart, TextPart, ToolCall

_THINK, _THOUGHT = "<think>", "</think>"
_CALL, _CALLED = "<tool_call>", "</tool_call>"
_FENCES = ("```", "~~~")
_Parts = list[TextPart | ReasoningPart]


class LeakReader:
    """Reads one answer. Text is held back only while it may be the beginning of a tag or of a fence."""

    def __init__(self, tools: Collection[str]) -> None:
        self._tools = tools
        self._held = ""
        self._state = "start"
        """`start`, `think`, `text` or `call`."""
        self._at_line_start = True
        self._in_fence = False
        self._skip_newlines = False
        """Line ends right after a tag belong to it."""
        self._calls: list[ToolCall] = []

    def feed(self, text: str) -> _Parts:
        """What can be shown now."""
        self._held += text
        parts: _Parts = []
        while self._advance(parts):
            pass
        return parts

    def flush(self) -> tuple[_Parts, list[ToolCall]]:
        """The rest at the end of the answer, and the calls that were found. An open call is text."""
        held, self._held = self._held, ""
        if not held:
            return [], self._calls
        part = ReasoningPart(held) if self._state == "think" else TextPart(held)
        return [part], self._calls

    def _advance(self, parts: _Parts) -> bool:
        """Takes one bite off the held text; false when more must arrive first."""
        if self._skip_newlines:
            self._held = self._held.lstrip("\n")
        if not self._held:
            return False
        self._skip_newlines = False
        if self._state == "start":
            return self._begin()
        if self._state == "think":
            return self._think(parts)
        if self._state == "call":
            return self._call(parts)
        return self._line(parts)

    def _begin(self) -> bool:
        seen = self._held.lstrip()
        if seen.startswith(_THINK):
            self._held, self._state, self._skip_newlines = seen[len(_THINK) :], "think", True
        elif _THINK.startswith(seen):
            return False
        else:
            self._state = "text"
        return True

    def _think(self, parts: _Parts) -> bool:
        thought, end, rest = self._held.partition(_THOUGHT)
        if end:
            self._held, self._state, self._skip_newlines = rest, "text", True
        else:
            keep = _overlap(thought, _THOUGHT)
            self._held, thought = thought[len(thought) - keep :], thought[: len(thought) - keep]
        if thought:
            parts.append(ReasoningPart(thought))
        return bool(end)

    def _line(self, parts: _Parts) -> bool:
        """One line, or what has arrived of it."""
        if self._at_line_start:
            seen = self._held.lstrip(" \t")
            if not self._in_fence and seen.startswith(_CALL):
                self._state = "call"
                return True
            if any(mark.startswith(seen) and mark != seen for mark in (*_FENCES, _CALL)):
                return False
            if seen.startswith(_FENCES):
                self._in_fence = not self._in_fence
        line, newline, rest = self._held.partition("\n")
        self._held, self._at_line_start = rest, bool(newline)
        parts.append(TextPart(line + newline))
        return True

    def _call(self, parts: _Parts) -> bool:
        head, _, after = self._held.partition(_CALL)
        body, end, rest = after.partition(_CALLED)
        if not end:
            return False
        call = self._read(body)
        if call is None:
            parts.append(TextPart(head + _CALL + body + _CALLED))
        else:
            self._calls.append(call)
            self._skip_newlines = True
        self._held, self._state, self._at_line_start = rest, "text", call is not None
        return True

    def _read(self, body: str) -> ToolCall | None:
        try:
            value = msgspec.json.decode(body.strip())
        except (msgspec.DecodeError, UnicodeEncodeError):
            return None
        if not isinstance(value, dict):
            return None
        fields = cast(dict[str, Any], value)
        name, arguments = fields.get("name"), fields.get("arguments", {})
        if not isinstance(name, str) or name not in self._tools:
            return None
        text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
        return ToolCall(call_id="", tool=name, arguments=text)


def _overlap(text: str, tag: str) -> int:
    """Length of the text's end that may be the tag's beginning."""
    return next((n for n in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:n])), 0)
