"""Turns the pieces of one streamed answer into parts: text, reasoning, whole calls, usage, and how it ended."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from ..protocol import CallPart, EndPart, ModelFault, ReasoningPart, TextPart, Tokens, ToolCall, UsagePart
from .leaks import LeakReader
from .library import Foreign
from .wire import is_object

CHANT = 100
"""So many times the same piece in a row, of more than two characters, is no answer (litellm's own limit)."""

_Finish = Literal["stop", "tool_calls", "length", "empty", "refusal"]


@dataclass(slots=True)
class _Call:
    """A call that is arriving."""

    call_id: str | None
    name: str
    pieces: list[str] = field(default_factory=list[str])

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


@dataclass(slots=True)
class Calls:
    """Calls, put together from fragments: only the first carries id and name, later ones an index."""

    _all: list[_Call] = field(default_factory=list[_Call])
    _at: dict[object, _Call] = field(default_factory=dict[object, _Call])

    def feed(self, fragment: Foreign) -> None:
        """Takes one `tool_calls[i]` of a delta."""
        index, call_id = getattr(fragment, "index", None), getattr(fragment, "id", None) or None
        function = getattr(fragment, "function", None)
        name = (getattr(function, "name", None) or "").strip()
        arguments = _as_text(getattr(function, "arguments", None))
        call = self._at.get(index)
        if call is None or _is_another(call, call_id, name):
            call = _Call(call_id, name)
            self._all.append(call)
            self._at[index] = call
        elif not call.name:
            call.name = name
        if arguments:
            call.pieces.append(arguments)

    def whole(self, *, cut_by_length: bool) -> tuple[list[ToolCall], bool]:
        """The calls that arrived whole, in order, and whether one was cut. After `length` the last one never counts."""
        kept = self._all[:-1] if cut_by_length else self._all
        calls = [ToolCall(call_id="", tool=c.name, arguments=c.arguments) for c in kept if not _is_cut(c.arguments)]
        return calls, len(calls) < len(self._all)


def _is_another(call: _Call, call_id: str | None, name: str) -> bool:
    """Two calls on one index: a second id, or a second name after arguments that are complete."""
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
    """The JSON breaks off within a value. A missing bracket at the end, or an earlier mistake, is for the tools."""
    text = arguments.strip()
    if not text or is_object(text):
        return False
    try:
        json.loads(text, strict=False)
    except json.JSONDecodeError as e:
        breaks_off = e.pos >= len(text) or e.msg.startswith("Unterminated string")
        return breaks_off and not is_object(text + _closing(text))
    return False


def _closing(text: str) -> str:
    """The brackets that are still open at the end of the text."""
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", text, flags=re.S)
    open_: list[str] = []
    for sign in outside:
        if sign in "{[":
            open_.append("}" if sign == "{" else "]")
        elif open_ and sign == open_[-1]:
            open_.pop()
    return "".join(reversed(open_))


class Reply:
    """One answer while it arrives. `feed` gives what can be shown at once; `end` the calls and the rest."""

    __slots__ = ("_calls", "_leaks", "_refused", "_said", "_same", "_text", "any", "finish", "usage")

    def __init__(self, leaks: LeakReader | None = None) -> None:
        self._calls = Calls()
        self._leaks = leaks
        self._same = 0
        self._text = ""
        self._said = False
        self._refused = False
        self.any = False
        """At least one chunk with a choice arrived."""
        self.finish: str | None = None
        """The finish reason as the provider gave it; None: it gave none."""
        self.usage: Tokens | None = None

    def feed(self, chunk: Foreign) -> list[TextPart | ReasoningPart]:
        """Takes one chunk. Raises ModelFault for a chant."""
        if (usage := getattr(chunk, "usage", None)) is not None:
            self.usage = tokens_of(usage) or self.usage
        choices = chunk.choices
        if not choices:
            return []
        choice = choices[0]
        self.any = True
        if choice.finish_reason:
            self.finish = choice.finish_reason
        delta = choice.delta
        if delta is None:
            return []
        parts: list[TextPart | ReasoningPart] = []
        if reasoning := _reasoning(delta):
            self._listen(reasoning)
            parts.append(ReasoningPart(reasoning))
        if content := delta.content:
            text = content if isinstance(content, str) else _joined(content)
            self._listen(text)
            parts.extend(self._leaks.feed(text) if self._leaks else [TextPart(text)])
        if refusal := getattr(delta, "refusal", None):
            self._refused = True
            parts.append(TextPart(refusal))
        for fragment in getattr(delta, "tool_calls", None) or ():
            self._calls.feed(fragment)
        self._said = self._said or bool(parts)
        return parts

    def end(self) -> Iterator[TextPart | ReasoningPart | CallPart | UsagePart | EndPart]:
        """What is known once the stream ended by itself."""
        calls, cut = self._calls.whole(cut_by_length=self.finish == "length")
        if self._leaks is not None:
            rest, leaked = self._leaks.flush()
            self._said = self._said or bool(rest)
            yield from rest
            calls = calls or leaked
        yield from (CallPart(call) for call in calls)
        if self.usage is not None:
            yield UsagePart(self.usage)
        yield EndPart(self._how(bool(calls)), truncated_call=cut)

    def _how(self, has_calls: bool) -> _Finish:
        if self.finish == "length":
            return "length"
        if self._refused or self.finish in ("content_filter", "refusal"):
            return "refusal"
        if has_calls:
            return "tool_calls"
        return "stop" if self._said else "empty"

    def _listen(self, text: str) -> None:
        if text != self._text:
            self._text, self._same = text, 1
            return
        self._same += 1
        if self._same >= CHANT and len(text) > 2:
            raise ModelFault("chant", f"the model repeats the same piece again and again: {text[:40]!r}")


def _reasoning(delta: Foreign) -> str | None:
    """`reasoning_content` in litellm and llama.cpp, `reasoning` in vLLM and OpenRouter."""
    found = getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None)
    return found if isinstance(found, str) else None


def _joined(content: list[dict[str, object]]) -> str:
    """Mistral may send the content as a list of parts."""
    return "".join(str(part.get("text", "")) for part in content)


def tokens_of(usage: Foreign) -> Tokens | None:
    """The provider's usage; None where it is all zeros, as some send it when they did not count."""
    prompt, out = _number(usage, "prompt_tokens"), _number(usage, "completion_tokens")
    if prompt + out == 0:
        return None
    details = getattr(usage, "prompt_tokens_details", None)
    more = getattr(usage, "completion_tokens_details", None)
    reasoning = _number(more, "reasoning_tokens")
    # xAI and Gemini leave reasoning out of the completion, and bill it.
    if reasoning and _number(usage, "total_tokens") == prompt + out + reasoning:
        out += reasoning
    cached = _number(details, "cached_tokens")
    written = _number(usage, "cache_creation_input_tokens") or _number(details, "cache_creation_tokens")
    cached = min(cached, prompt)
    return Tokens(prompt, out, cached, min(reasoning, out), min(written, prompt - cached))


def _number(holder: Foreign, name: str) -> int:
    value = getattr(holder, name, None)
    return value if isinstance(value, int) and value > 0 else 0
