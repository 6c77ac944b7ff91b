"""MiniMax M1: JSON objects, one on each line, between tags; Apriel and Nemotron write a JSON array there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..source import NotACall, Source, Steps

if TYPE_CHECKING:
    from ....protocol import ToolCall
    from ..offer import OfferedTools


def read(source: Source, offer: OfferedTools, *, close: str) -> Steps[list[ToolCall]]:
    """Read the calls up to the closing tag."""
    calls: list[ToolCall] = []
    yield from source.space()
    while (yield from source.peek()) in ("{", "["):
        text = yield from source.json()
        calls += offer.from_list(text) if text[0] == "[" else [offer.from_json(text)]
        yield from source.space()
    yield from source.expect(close)
    if not calls:
        raise NotACall
    return calls
