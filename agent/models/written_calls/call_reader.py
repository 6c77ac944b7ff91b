"""Read one answer: show its text and reasoning as they arrive, and collect the calls at its end."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from ...protocol import ReasoningPart, TextPart, ToolCall
from .answer_source import NotACall, Source, Steps
from .call_position import Position
from .families import deepseek, fenced, gemma, harmony, kimi, llama, mistral, phi, tagged
from .offered_calls import OfferedTools
from .stop_tokens import STOPS

if TYPE_CHECKING:
    from ...protocol import ToolSpec

Parts = list[TextPart | ReasoningPart]

_LINE_END = re.compile("\n")
_AFTER_SENTENCE = re.compile(r"\n|(?<=[.!?:…。！？：>\]])[<\[]")
"""Candidates within a line for `Position.may_begin`."""
_ANY_TAG = re.compile(r"[\n<]")
_Reader: TypeAlias = Callable[[Source, OfferedTools], Steps[list[ToolCall]]]

_TAGGED: dict[str, _Reader] = {
    "<|python_tag|>": llama.read,
    "[TOOL_CALLS]": mistral.read,
    "<｜tool▁calls▁begin｜>": deepseek.read,
    "<｜tool_calls_begin｜>": deepseek.read,
    "<｜tool calls begin｜>": deepseek.read,
    "<｜tool▁calls｜>": deepseek.read,
    "<|tool_calls_section_begin|>": kimi.read,
    "<|tool_call|>": phi.read,
    "<|tool_call>": partial(gemma.read, quote='<|"|>', close="<tool_call|>"),
    "<start_function_call>": partial(gemma.read, quote="<escape>", close="<end_function_call>"),
}
_FENCED: dict[str, _Reader] = {"```": fenced.read}
_WHOLE: dict[str, _Reader] = {"{": llama.read_bare}

_TAGS = (*_TAGGED, *harmony.OPENERS)
"""Tags that begin a call at the beginning of a line or after a sentence. For `<name>` see call_tags.py."""
_AT_LINE_START = (*_FENCED, "functools[")
_AT_START = (*_WHOLE, harmony.ADDRESS)
"""Tags that begin a call only at the beginning of the answer."""
_ONLY_ALONE = frozenset((*_FENCED, *_WHOLE))
"""Tags that also begin examples in JSON or Python. A call counts only at the end of the answer, and only one."""
_READERS: dict[str, _Reader] = {**_TAGGED, **_FENCED, **_WHOLE, "functools[": phi.read_functools}

_THOUGHTS = {
    "<think>": "</think>",
    "[THINK]": "[/THINK]",
    "<seed:think>": "</seed:think>",
    "<|channel>thought": "<channel|>",
}
"""Opening and closing tags of reasoning at the very beginning of an answer. Harmony has its own."""


@dataclass(slots=True)
class _Found:
    """One call, or several in one pair of tags."""

    raw: str
    """Their text with the tags."""
    calls: list[ToolCall]
    alone: bool
    """Whether they count only as the rest of the answer, without other calls."""
    last: bool
    """Whether they count only if no text follows."""
    gap: str = ""
    """White space and stop tokens after them."""

    @property
    def is_paragraph(self) -> bool:
        """Whether they are JSON without tags or fence, on lines of their own, as small models begin an answer."""
        return self.raw.startswith("{") and "\n" in self.raw[len(self.raw.rstrip()) :] + self.gap


class CallReader:
    """Reads one answer that may have tool calls and reasoning as text.

    Calls count only at the beginning of the answer (reasoning may precede them) or at its end. With text before and
    after them they are quotes; so is a call without tags that text follows on its last line. Calls in code or reasoning
    never count. Anything that is not a call of an offered tool
    stays text, byte for byte.
    """

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._offer = OfferedTools(tools)
        self._tags = _TAGS if self._offer else harmony.OPENERS
        self._source = Source()
        self._position = Position()
        self._output = _Output()
        self._calls: list[ToolCall] = []
        self._has_text = False
        """Whether text other than white space was shown."""
        self._examples = False
        """Whether a fenced call was only an example. Further ones are then examples too."""
        self._in_message = False
        """Whether the text is inside a harmony message, which a token ends."""
        self._reading = self._answer()

    def feed(self, text: str) -> Parts:
        """Return what can be shown now. Text is held back only while it may begin a tag or a call."""
        self._source.add(text)
        return self._continue()

    def flush(self) -> tuple[Parts, list[ToolCall]]:
        """Return the rest at the end of the answer, and the calls. An incomplete call is text."""
        self._source.end()
        return self._continue(), self._calls

    def _continue(self) -> Parts:
        next(self._reading, None)
        return self._output.drain()

    def _answer(self) -> Steps[None]:
        yield from self._begin()
        while opener := (yield from self._next_opener()):
            yield from self._open(opener)

    def _begin(self) -> Steps[None]:
        """Read reasoning at the very beginning, and forms that are calls only there."""
        source = self._source
        lead = yield from source.space()
        if opener := (yield from source.match(_THOUGHTS)):
            yield from self._read_reasoning(_THOUGHTS[opener])
        else:
            self._show(lead)
        source.mark()
        if self._offer and (opener := (yield from source.match(_AT_START))):
            yield from self._open(opener)

    def _read_reasoning(self, close: str) -> Steps[None]:
        source = self._source
        yield from source.newlines()
        while True:
            text, reached = source.stream_until(close)
            self._output.reasoning(text)
            if reached or source.ended:
                break
            yield
        yield from source.newlines()

    def _next_opener(self) -> Steps[str]:
        """Show text up to the next opening tag and consume the tag; empty at the end of the answer."""
        source = self._source
        while character := (yield from source.peek()):
            source.mark()
            if opener := (yield from self._match(self._options(character), character)):
                return opener
            source.release()
            self._show(source.text(self._stop()))
        return ""

    def _match(self, options: Collection[str], character: str) -> Steps[str]:
        """Consume one of the opening tags, or the beginning (`<name`) of a tag that is about calls."""
        opener = (yield from self._source.match(options)) if options else ""
        if opener or not self._offer or character != "<" or self._tags[0] not in options:
            return opener
        name = yield from self._source.call_tag()
        return f"<{name}" if name else ""

    def _options(self, character: str) -> Collection[str]:
        # A tag that follows a tag in prose is prose too.
        if character in "<[" and self._position.may_begin and not self._position.follows(self._tags):
            return (*self._tags, *harmony.ENDS) if self._in_message else self._tags
        if character == "<" and self._in_message and not self._position.in_fence:
            return harmony.ENDS
        is_likely = self._offer and not self._examples and character in "`f"
        return _AT_LINE_START if is_likely and self._position.at_line_start else ()

    def _stop(self) -> re.Pattern[str]:
        if self._position.in_fence:
            return _LINE_END
        return _ANY_TAG if self._in_message else _AFTER_SENTENCE

    def _open(self, opener: str) -> Steps[None]:
        """Read the call or reasoning after the opening tag, and calls directly after it. The mark is before the tag."""
        source = self._source
        found: list[_Found] = []
        try:
            while opener:
                if opener in harmony.FRAMES:
                    calls = yield from self._message(opener, found)
                else:
                    read = _READERS.get(opener) or partial(tagged.read, tag=opener[1:])
                    calls = yield from read(source, self._offer)
                last, raw = source.unescaped, source.release()
                if not calls:
                    return
                found.append(_Found(raw, calls, alone=opener in _ONLY_ALONE, last=last))
                found[-1].gap = yield from self._filler()
                source.mark()
                opener = yield from self._match(self._tags, (yield from source.peek()))
        except NotACall:
            raw = source.release()
            self._accept_or_show(found, followed=True)
            self._show(raw)
        else:
            self._accept_or_show(found, followed=bool((yield from source.peek())))

    def _message(self, opener: str, found: list[_Found]) -> Steps[list[ToolCall]]:
        """Read the call in a harmony message; empty if the message is reasoning (which is read) or text."""
        source, framed = self._source, not self._has_text or bool(found)
        if opener in harmony.ENDS:
            if not (yield from source.peek()):
                return []
            opener, framed = (yield from source.expect(harmony.START)), True
        header = yield from harmony.header(source, opener)
        if header.recipient:
            return [(yield from harmony.call(source, self._offer, header.recipient))]
        if not framed:
            raise NotACall
        source.release()
        self._accept_or_show(found, followed=True)
        self._in_message = header.channel != "analysis"
        if not self._in_message:
            yield from self._read_reasoning(harmony.END)
        return []

    def _filler(self) -> Steps[str]:
        """Read white space and stop tokens."""
        gap = yield from self._source.space()
        while stop := (yield from self._source.match(STOPS)):
            gap += stop + (yield from self._source.space())
        return gap

    def _accept_or_show(self, found: list[_Found], *, followed: bool) -> None:
        """Accept the calls, or show them as text if they are quotes."""
        is_alone = len(found) == 1 and (not followed or found[0].is_paragraph)
        quoted = any(each.alone for each in found) and not is_alone
        if followed:
            quoted = quoted or self._has_text or any(each.last for each in found)
        if quoted:
            self._examples = self._examples or any(each.alone for each in found)
            self._show("".join(each.raw + each.gap for each in found))
        elif found:
            self._calls += [call for each in found for call in each.calls]
            if followed:
                gap = found[-1].gap
                self._show(gap[len(gap.rstrip()) :].rpartition("\n")[2])

    def _show(self, text: str) -> None:
        self._output.text(text)
        self._position.advance(text)
        self._has_text = self._has_text or not (text.isspace() or not text)


class _Output:
    """Collects shown text and reasoning, in order. Adjacent pieces of one kind become one part."""

    def __init__(self) -> None:
        self._runs: list[tuple[type[TextPart] | type[ReasoningPart], list[str]]] = []

    def text(self, text: str) -> None:
        """Add a piece of text."""
        self._add(TextPart, text)

    def reasoning(self, text: str) -> None:
        """Add a piece of reasoning."""
        self._add(ReasoningPart, text)

    def drain(self) -> Parts:
        """Return what was added since the last call."""
        runs, self._runs = self._runs, []
        return [kind("".join(pieces)) for kind, pieces in runs]

    def _add(self, kind: type[TextPart] | type[ReasoningPart], text: str) -> None:
        if not text:
            return
        if self._runs and self._runs[-1][0] is kind:
            self._runs[-1][1].append(text)
        else:
            self._runs.append((kind, [text]))
