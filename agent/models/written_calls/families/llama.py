"""Llama 3: JSON objects after `<|python_tag|>`, or as the whole answer, separated by a semicolon or a line end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..answer_source import NotACall, Source, Steps
from ..call_tags import is_about_calls

if TYPE_CHECKING:
    from ....protocol import ToolCall
    from ..offered_calls import OfferedTools

_KEYS = frozenset({"name", "type", "arguments", "parameters"})


def read(source: Source, offer: OfferedTools) -> Steps[list[ToolCall]]:
    """Read the calls after the tag."""
    yield from source.space()
    return (yield from _objects(source, offer, (yield from source.json())))


def read_bare(source: Source, offer: OfferedTools) -> Steps[list[ToolCall]]:
    """Read the calls of an answer that is only JSON; its first bracket was read."""
    return (yield from _objects(source, offer, (yield from likely_object(source, "{"))))


def likely_object(source: Source, begun: str) -> Steps[str]:
    """Read a JSON object that begins like a call. Other JSON raises NotACall at its first key, so it is shown early."""
    gap = yield from source.space()
    yield from source.expect('"')
    key = yield from source.short('"')
    if key not in _KEYS and not is_about_calls(key.removesuffix("_name")):
        raise NotACall
    return (yield from source.json(f'{begun}{gap}"{key}"'))


def _objects(source: Source, offer: OfferedTools, first: str) -> Steps[list[ToolCall]]:
    calls = offer.from_json(first, whole=True)
    while True:
        yield from source.space()
        separator = yield from source.match((";",))
        yield from source.space()
        if (yield from source.peek()) != "{":
            break
        calls += offer.from_json((yield from source.json()), whole=True)
    if separator:
        raise NotACall
    return calls
