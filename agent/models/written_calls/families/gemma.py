"""FunctionGemma and Gemma 4: `call:name{key:value}` with quoted texts, numbers, and nested objects and lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..answer_source import DEEPEST, NotACall, Source, Steps
from ..offered_calls import OfferedTools, decoded

if TYPE_CHECKING:
    from ....protocol import ToolCall


def read(source: Source, offer: OfferedTools, *, quote: str, close: str) -> Steps[list[ToolCall]]:
    """Read one call and the closing tag. `quote` encloses each text."""
    yield from source.space()
    yield from source.expect("call:")
    name = offer.name((yield from source.word()))
    yield from source.expect("{")
    values = yield from _object(source, quote, 1)
    yield from source.space()
    yield from source.expect(close)
    return [offer.from_values(name, values)]


def _object(source: Source, quote: str, depth: int) -> Steps[dict[str, object]]:
    values: dict[str, object] = {}
    while (yield from _has_more(source, "}")):
        if (yield from source.match((quote,))):
            key = yield from source.until(quote)
            yield from source.expect(":")
        else:
            key = (yield from source.short(":")).strip()
        values[key] = yield from _value(source, quote, depth)
    return values


def _list(source: Source, quote: str, depth: int) -> Steps[list[object]]:
    values: list[object] = []
    while (yield from _has_more(source, "]")):
        values.append((yield from _value(source, quote, depth)))
    return values


def _has_more(source: Source, close: str) -> Steps[bool]:
    """Read the separator of values; False after the closing bracket. FunctionGemma may omit the comma."""
    yield from source.space()
    yield from source.match((",",))
    yield from source.space()
    return not (yield from source.match((close,)))


def _value(source: Source, quote: str, depth: int) -> Steps[object]:
    if depth > DEEPEST // 4:
        raise NotACall
    yield from source.space()
    if (yield from source.match((quote,))):
        source.unescaped = True
        return (yield from source.until(quote))
    bracket = yield from source.match(("{", "["))
    if bracket:
        return (yield from (_object if bracket == "{" else _list)(source, quote, depth + 1))
    return decoded((yield from source.bare()))
