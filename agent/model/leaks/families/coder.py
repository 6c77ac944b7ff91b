"""Qwen3-Coder and Seed-OSS: `<function=name>` with `<parameter=key>` values, and Llama's JSON in the same tag."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ....protocol import ToolCall
    from ..offer import OfferedTools
    from ..source import Source, Steps

_OPEN, _CLOSE = "<function=", "</function>"
_PARAMETER, _PARAMETER_END = "<parameter=", "</parameter>"


def read(source: Source, offer: OfferedTools) -> Steps[list[ToolCall]]:
    """Read one function without an opening `<tool_call>`. A model that forgets it may still write the closing tag."""
    call = yield from _function(source, offer)
    yield from source.space()
    yield from source.match(("</tool_call>",))
    return [call]


def read_all(source: Source, offer: OfferedTools, *, close: str) -> Steps[list[ToolCall]]:
    """Read the functions up to the closing tag."""
    calls: list[ToolCall] = []
    yield from source.space()
    tag = yield from source.expect(_OPEN)
    while tag != close:
        calls.append((yield from _function(source, offer)))
        yield from source.space()
        tag = yield from source.expect(_OPEN, close)
    return calls


def _function(source: Source, offer: OfferedTools) -> Steps[ToolCall]:
    name = offer.name((yield from source.short(">")).strip())
    yield from source.space()
    if (yield from source.peek()) == "{":
        call = offer.from_arguments(name, (yield from source.json()))
        yield from source.space()
        yield from source.expect(_CLOSE)
        return call
    values: list[tuple[str, str]] = []
    tag = yield from source.expect(_PARAMETER, _CLOSE)
    while tag == _PARAMETER:
        key = (yield from source.short(">")).strip()
        value, tag = yield from source.value(_PARAMETER_END, (_PARAMETER, _CLOSE))
        # The template puts the value on separate lines.
        values.append((key, value.removeprefix("\n").removesuffix("\n")))
    return offer.from_texts(name, values)
