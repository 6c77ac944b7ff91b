"""Llama 3: JSON objects behind `<|python_tag|>`, or as the whole answer. A semicolon or a line end separates them."""

from __future__ import annotations

from ....protocol import ToolCall
from ..offer import Offer
from ..source import Refused, Source, Steps

_KEYS = tuple(f'"{key}"' for key in ("name", "function", "type", "arguments", "parameters"))


def read(source: Source, offer: Offer) -> Steps[list[ToolCall]]:
    """The calls behind the tag."""
    yield from source.space()
    return (yield from _objects(source, offer, (yield from source.json())))


def read_bare(source: Source, offer: Offer) -> Steps[list[ToolCall]]:
    """The calls of an answer that is nothing but JSON; its first bracket is read."""
    return (yield from _objects(source, offer, (yield from likely_object(source, "{"))))


def likely_object(source: Source, begun: str) -> Steps[str]:
    """A JSON object that begins as a call does. Other JSON is refused at its first key, so that it is shown early."""
    gap = yield from source.space()
    key = yield from source.expect(*_KEYS)
    return (yield from source.json(begun + gap + key))


def _objects(source: Source, offer: Offer, first: str) -> Steps[list[ToolCall]]:
    calls = [offer.from_json(first, whole=True)]
    while True:
        yield from source.space()
        separator = yield from source.match((";",))
        yield from source.space()
        if (yield from source.peek()) != "{":
            break
        calls.append(offer.from_json((yield from source.json()), whole=True))
    if separator:
        raise Refused
    return calls
