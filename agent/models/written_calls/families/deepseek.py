"""DeepSeek V3, R1 (a type, the name, fenced JSON) and V3.1 (the name, JSON), between tokens of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ....protocol import ToolCall
    from ..answer_source import Source, Steps
    from ..offered_calls import OfferedTools

_CALL, _SEPARATOR, _CALL_END = "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"
_ENDS = ("<｜tool▁calls▁end｜>", "<｜tool_calls_end｜>", "<｜tool calls end｜>")


def read(source: Source, offer: OfferedTools) -> Steps[list[ToolCall]]:
    """Read the calls of one section, which may end with the answer."""
    calls: list[ToolCall] = []
    yield from source.space()
    yield from source.match((_CALL,))
    while True:
        calls.append((yield from _call(source, offer)))
        yield from source.space()
        if not (yield from source.more()) or (yield from source.expect(_CALL, *_ENDS)) != _CALL:
            return calls


def _call(source: Source, offer: OfferedTools) -> Steps[ToolCall]:
    name = (yield from source.short(_SEPARATOR)).strip()
    if name == "function":
        name = (yield from source.word()).strip()
    offer.name(name)
    yield from source.space()
    fence = yield from source.match(("```json", "```"))
    yield from source.space()
    call = offer.from_arguments(name, (yield from source.json()))
    yield from source.space()
    if fence:
        yield from source.match(("```",))
        yield from source.space()
    yield from source.expect(_CALL_END)
    return call
