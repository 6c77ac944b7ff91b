"""`<invoke name="...">` with `<parameter name="...">` values or JSON: MiniMax M2, and DeepSeek V3.2 and V4 (DSML)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..offer import OfferedTools, decoded
from ..source import NotACall, Source, Steps

if TYPE_CHECKING:
    from ....protocol import ToolCall


def read(source: Source, offer: OfferedTools, *, mark: str, close: str) -> Steps[list[ToolCall]]:
    """Read the calls up to the closing tag. `mark` precedes the names of the inner tags."""
    calls: list[ToolCall] = []
    invoke = f'<{mark}invoke name="'
    yield from source.space()
    tag = yield from source.expect(invoke)
    while tag == invoke:
        calls.append((yield from _invoke(source, offer, mark)))
        yield from source.space()
        tag = yield from source.expect(invoke, close)
    return calls


def _invoke(source: Source, offer: OfferedTools, mark: str) -> Steps[ToolCall]:
    parameter, parameter_end, end = f'<{mark}parameter name="', f"</{mark}parameter>", f"</{mark}invoke>"
    name = offer.name((yield from source.short('"')))
    yield from source.short(">")
    yield from source.space()
    if (yield from source.peek()) == "{":
        call = offer.from_arguments(name, (yield from source.json()))
        yield from source.space()
        yield from source.expect(end)
        return call
    values: dict[str, object] = {}
    tag = yield from source.expect(parameter, end)
    while tag == parameter:
        key = yield from source.short('"')
        attributes = yield from source.short(">")
        text, tag = yield from source.value(parameter_end, (parameter, end))
        values[key] = _typed(text) if 'string="false"' in attributes else text
    return offer.from_values(name, values)


def _typed(text: str) -> object:
    try:
        return decoded(text)
    except NotACall:
        return text
