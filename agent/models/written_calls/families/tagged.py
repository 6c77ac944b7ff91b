"""Calls in tags that are about tools, functions or calls (`<tools>`, `<function_call>`, `<function=name>`, `<invoke>`).

Models were trained on one such tag and write others. So the names of the tags do not matter here, only what they hold:
JSON objects or arrays, one or many, with or without a fence; a name and JSON; GLM's pairs; tags with the name and the
arguments as attributes, JSON or tags of their own (Qwen3-Coder, MiniMax M2, DeepSeek V3.2 and V4).
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..answer_source import NotACall, Source, Steps
from ..call_tags import DSML
from ..offered_calls import decoded
from ..stop_tokens import STOPS
from . import glm

if TYPE_CHECKING:
    from ....protocol import ToolCall
    from ..offered_calls import OfferedTools

_DEEPEST = 8
"""Tags around a call."""
_FENCE = "```"


def read(source: Source, offer: OfferedTools, tag: str) -> Steps[list[ToolCall]]:
    """Read the calls of one element whose `<tag` was read, up to its closing tag or the end of the answer."""
    element = _Element(source, offer)
    is_read = yield from element.open(tag)
    while not is_read:
        yield from source.space()
        is_read = yield from element.read_item()
    if not element.calls:
        raise NotACall
    return element.calls


class _Element:
    """Reads the calls in one outermost element. Each method returns whether the element has ended."""

    def __init__(self, source: Source, offer: OfferedTools) -> None:
        self.calls: list[ToolCall] = []
        self._source = source
        self._offer = offer
        self._outer: list[str] = []
        """The names of the open tags."""

    def open(self, tag: str) -> Steps[bool]:
        """Read an opening tag after its name, and the whole element if it names the tool."""
        attributes, is_empty = yield from _attributes(self._source)
        key = self._offer.naming(attributes)
        if key is not None:
            name = attributes.pop(key)
            self.calls.append((yield from self._call(tag, name, attributes, is_empty=is_empty)))
            if self._outer:
                return False
            yield from self._source.space()
            # Qwen3-Coder may forget only the opening `<tool_call>`.
            yield from self._source.call_tag(closing=True)
            return True
        if is_empty or len(self._outer) == _DEEPEST:
            raise NotACall
        if not (self.calls and self._outer[-1] == tag):  # otherwise only the closing tag before this one is missing
            self._outer.append(tag)
        return False

    def read_item(self) -> Steps[bool]:
        """Read a tag, JSON, or a call that begins with the tool's name."""
        source, offer = self._source, self._offer
        character = yield from source.peek()
        if character in ("{", "["):
            self.calls += offer.from_json((yield from source.json()))
            yield from source.space()
            yield from source.match((",", ";"))
        elif character == "`":
            self.calls += offer.from_json((yield from _fenced(source)))
        elif not character or (self.calls and (yield from source.sees(STOPS))):
            return True
        elif character == "<":
            return (yield from self._tag())
        else:
            name = offer.name((yield from source.word()))
            yield from source.space()
            if (yield from source.peek()) != "{":
                self.calls.append((yield from glm.pairs(source, offer, name, close=f"</{self._outer[-1]}>")))
                return self._closed()
            self.calls.append(offer.from_arguments(name, (yield from source.json())))
        return False

    def _tag(self) -> Steps[bool]:
        if closed := (yield from self._source.call_tag(closing=True)):
            return closed == self._outer[-1] and self._closed()
        if tag := (yield from self._source.call_tag()):
            return (yield from self.open(tag))
        self.calls.append((yield from _after_name(self._source, self._offer, self._outer)))
        return self._closed()

    def _closed(self) -> bool:
        self._outer.pop()
        return not self._outer

    def _call(self, tag: str, name: str, given: dict[str, str], *, is_empty: bool) -> Steps[ToolCall]:
        """Read the rest of an element that names its tool, after its opening tag."""
        source, offer, close = self._source, self._offer, f"</{tag}>"
        if is_empty or offer.has_arguments(name, given):
            call = offer.from_fields(name, given)
            if not is_empty:
                yield from source.space()
                yield from source.match((close,))
            return call
        yield from source.space()
        character = yield from source.peek()
        if character not in ("{", "`"):
            return (yield from _children(source, offer, name, close))
        text = yield from (_fenced(source) if character == "`" else source.json())
        yield from source.space()
        if not (yield from source.match((close,))) and (yield from source.peek()):
            ends = (*STOPS, *(f"</{each}>" for each in self._outer))
            if not (yield from source.sees(ends)):
                raise NotACall
        return offer.from_arguments(name, text)


def _after_name(source: Source, offer: OfferedTools, outer: Sequence[str]) -> Steps[ToolCall]:
    """Read a call whose first tag holds the tool's name, such as `<name>read_file</name>`."""
    yield from source.expect("<")
    first = yield from source.short(">")
    name = offer.name((yield from source.short(f"</{first}>")).strip())
    yield from source.space()
    return (yield from _children(source, offer, name, f"</{outer[-1]}>"))


def _children(source: Source, offer: OfferedTools, name: str, close: str) -> Steps[ToolCall]:
    """Read the arguments of a call that are elements of their own, and the closing tag of the call."""
    values: dict[str, object] = {}
    mark = DSML if close.startswith(f"</{DSML}") else ""
    parameters = offer.parameters(name)
    tag = yield from source.expect(f"<{mark}", close)
    child = (yield from source.word()) if tag != close else ""
    while tag != close:
        attributes, is_empty = yield from _attributes(source)
        key = attributes.get("") or attributes.get("name") or (child if not attributes else "")
        if is_empty or not key or child.startswith("/"):
            raise NotACall
        siblings = parameters if child in parameters else (child,)
        value, tag = yield from source.value(f"</{mark}{child}>", (*(f"<{mark}{each}" for each in siblings), close))
        if "" in attributes:
            value = value.removeprefix("\n").removesuffix("\n")  # this template puts the value on separate lines
        values[key] = _typed(value) if attributes.get("string") == "false" else value
        child = tag.removeprefix(f"<{mark}")
    return offer.from_children(name, values)


def _fenced(source: Source) -> Steps[str]:
    """Read JSON in a code fence."""
    yield from source.expect(_FENCE)
    yield from source.short("\n")
    yield from source.space()
    text = yield from source.json()
    yield from source.space()
    yield from source.expect(_FENCE)
    return text


def _attributes(source: Source) -> Steps[tuple[dict[str, str], bool]]:
    """Read the rest of an opening tag: the attributes (`=value` has an empty name), and whether it ends in `/>`."""
    found: dict[str, str] = {}
    if (yield from source.match(("=",))):
        found[""] = yield from _attribute(source)
    while True:
        yield from source.space()
        if ending := (yield from source.match((">", "/>", ","))):
            if ending == ",":
                continue
            return found, ending == "/>"
        key = yield from source.word()
        yield from source.space()
        yield from source.expect("=")
        yield from source.space()
        found[key] = yield from _attribute(source)


def _attribute(source: Source) -> Steps[str]:
    """Read the value of an attribute. JSON in quotes may hold the same quote, escaped in any way or not at all."""
    quote = yield from source.match(('"', "'"))
    if not quote:
        return (yield from source.attribute())
    begun = yield from source.match(("{", "["))
    if begun:
        begun += yield from source.space()
        # A model may escape each quote of the JSON (`\\"`, `&quot;`) or write Python's quotes instead.
        if (yield from source.peek()) not in ("\\", "&", "'"):
            text = yield from source.json(begun)
            yield from source.expect(quote)
            return text
    text = yield from source.quoted(quote)
    if begun and text.startswith("\\"):
        return begun + _unescaped(text)
    return begun + (text.replace("\\" + quote, quote) if "\\" + quote in text else html.unescape(text))


def _unescaped(text: str) -> str:
    """Remove the backslashes of a JSON string, or of a Python string in single quotes."""
    return str(decoded('"' + text.replace("\\'", "'") + '"'))


def _typed(text: str) -> object:
    try:
        return decoded(text)
    except NotACall:
        return text
