"""Build tool calls from the fragments of a stream."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

import msgspec

from ..protocol import ToolCall


@dataclass(slots=True)
class _Call:
    """A call that is still arriving."""

    call_id: str | None
    name: str
    pieces: list[str] = field(default_factory=list[str])

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


@dataclass(slots=True)
class Calls:
    """The calls of one answer. The first fragment of a call has its id and name, later ones only its index."""

    _all: list[_Call] = field(default_factory=list[_Call])
    _at: dict[object, _Call] = field(default_factory=dict[object, _Call])

    def __len__(self) -> int:
        return len(self._all)

    def feed(self, index: object, call_id: str | None, name: str, arguments: object) -> int:
        """Add one fragment and return the number of characters that it added to the arguments.

        Two calls may share an index: a second id, or a second name after complete arguments, begins another call.
        """
        name, text = name.strip(), _as_text(arguments)
        call = self._at.get(index)
        if call is None or _is_another(call, call_id, name):
            call = _Call(call_id, name)
            self._all.append(call)
            self._at[index] = call
        elif not call.name:
            call.name = name
        if text:
            call.pieces.append(text)
        return len(text)

    def complete(self, *, cut_by_length: bool) -> tuple[list[ToolCall], bool]:
        """Return the complete calls in order, and whether one was cut. `cut_by_length`: the last call is incomplete."""
        kept = self._all[:-1] if cut_by_length else self._all
        calls = [ToolCall(call_id="", tool=c.name, arguments=c.arguments) for c in kept if not _is_cut(c.arguments)]
        return calls, len(calls) < len(self._all)


def is_object(arguments: str) -> bool:
    """Return whether the text is one complete JSON object. False if it is nested too deeply to parse."""
    try:
        return isinstance(msgspec.json.decode(arguments), dict)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False


def _is_another(call: _Call, call_id: str | None, name: str) -> bool:
    if not name:
        return False
    if call_id is not None and call.call_id is not None:
        return call_id != call.call_id
    return is_object(call.arguments)


def _as_text(arguments: object) -> str:
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else msgspec.json.encode(arguments).decode()


def _is_cut(arguments: str) -> bool:
    """Return whether the JSON ends within a value. Other mistakes, and missing brackets, are reported by the tools."""
    text = arguments.strip()
    if not text or is_object(text):
        return False
    try:
        json.loads(text, strict=False)
    except json.JSONDecodeError as e:
        breaks_off = e.pos >= len(text) or e.msg.startswith("Unterminated string")
        return breaks_off and not is_object(text + _closing(text))
    except RecursionError:
        return False
    return False


def _closing(text: str) -> str:
    """Return the brackets that are still open at the end of the text."""
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", text, flags=re.S)
    open_: list[str] = []
    for character in outside:
        if character in "{[":
            open_.append("}" if character == "{" else "]")
        elif open_ and character == open_[-1]:
            open_.pop()
    return "".join(reversed(open_))
