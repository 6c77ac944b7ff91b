"""Kimi K2: a section of calls, each named `functions.name:index`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ....protocol import ToolCall
    from ..answer_source import Source, Steps
    from ..offered_calls import OfferedTools

_CALL, _ARGUMENTS, _CALL_END = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"
_END = "<|tool_calls_section_end|>"


def read(source: Source, offer: OfferedTools) -> Steps[list[ToolCall]]:
    """Read the calls of one section, which may end with the answer."""
    calls: list[ToolCall] = []
    yield from source.space()
    tag = yield from source.expect(_CALL)
    while tag == _CALL:
        yield from source.space()
        name = (yield from source.word()).removeprefix("functions.").rpartition(":")[0]
        offer.name(name)
        yield from source.space()
        yield from source.expect(_ARGUMENTS)
        yield from source.space()
        calls.append(offer.from_arguments(name, (yield from source.json())))
        yield from source.space()
        yield from source.expect(_CALL_END)
        yield from source.space()
        tag = (yield from source.expect(_CALL, _END)) if (yield from source.more()) else _END
    return calls
