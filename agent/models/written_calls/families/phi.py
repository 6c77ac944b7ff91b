"""A JSON array: Phi-4 and Granite behind `<|tool_call|>`, Phi-4-mini in `functools[...]`.

Some templates of Phi-4 put one object between the tags instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..answer_source import NotACall, Source, Steps

if TYPE_CHECKING:
    from ....protocol import ToolCall
    from ..offered_calls import OfferedTools

_CLOSE = "<|/tool_call|>"


def read(source: Source, offer: OfferedTools) -> Steps[list[ToolCall]]:
    """Read the calls of one array, with or without a closing tag."""
    yield from source.space()
    text = yield from source.json()
    if text[0] == "{":
        yield from source.space()
        yield from source.expect(_CLOSE)
        return offer.from_json(text)
    calls = offer.from_json(text)
    # White space before the closing tag belongs to the tag; without a tag it is skipped after the calls anyway.
    yield from source.space()
    yield from source.match((_CLOSE,))
    return calls


def read_functools(source: Source, offer: OfferedTools) -> Steps[list[ToolCall]]:
    """Read the calls of one array whose first bracket was read."""
    gap = yield from source.space()
    if (yield from source.peek()) != "{":
        raise NotACall
    return offer.from_json((yield from source.json("[" + gap)))
