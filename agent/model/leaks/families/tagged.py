"""`<tool_call>`: JSON of Hermes and Qwen; Qwen3-Coder, GLM and Granite write their own forms into the same tag."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import coder, glm, phi

if TYPE_CHECKING:
    from ....protocol import ToolCall
    from ..offer import OfferedTools
    from ..source import Source, Steps

_CLOSE = "</tool_call>"


def read(source: Source, offer: OfferedTools) -> Steps[list[ToolCall]]:
    """Read the calls in one `<tool_call>`."""
    yield from source.space()
    character = yield from source.peek()
    if character == "{":
        return (yield from read_json(source, offer, close=_CLOSE))
    if character == "<":
        return (yield from coder.read_all(source, offer, close=_CLOSE))
    if character == "[":
        return (yield from phi.read(source, offer))
    return [(yield from glm.read(source, offer, close=_CLOSE))]


def read_json(source: Source, offer: OfferedTools, *, close: str) -> Steps[list[ToolCall]]:
    """Read one JSON object and the closing tag."""
    yield from source.space()
    call = offer.from_json((yield from source.json()))
    yield from source.space()
    yield from source.expect(close)
    return [call]
