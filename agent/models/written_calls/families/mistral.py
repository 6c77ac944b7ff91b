"""Mistral: `[TOOL_CALLS]` and a JSON array, or a name (with `[CALL_ID]`, `[ARGS]`) and the JSON of its arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ....protocol import ToolCall
    from ..answer_source import Source, Steps
    from ..offered_calls import OfferedTools


def read(source: Source, offer: OfferedTools) -> Steps[list[ToolCall]]:
    """Read the calls after the tag. Only the end of the JSON closes them."""
    yield from source.space()
    character = yield from source.peek()
    if character in ("[", "{"):
        return offer.from_json((yield from source.json()))
    name = offer.name((yield from source.word()))
    if (yield from source.match(("[CALL_ID]", "[ARGS]"))) == "[CALL_ID]":
        yield from source.word()
        yield from source.expect("[ARGS]")
    yield from source.space()
    return [offer.from_arguments(name, (yield from source.json()))]
