"""GLM 4.5 to 4.7: the name, then pairs of `<arg_key>` and `<arg_value>`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ....protocol import ToolCall
    from ..answer_source import Source, Steps
    from ..offered_calls import OfferedTools

_KEY, _KEY_END = "<arg_key>", "</arg_key>"
_VALUE, _VALUE_END = "<arg_value>", "</arg_value>"


def pairs(source: Source, offer: OfferedTools, name: str, *, close: str) -> Steps[ToolCall]:
    """Read the arguments of a call after the tool's name, and the closing tag."""
    values: list[tuple[str, str]] = []
    tag = yield from source.expect(_KEY, close)
    while tag == _KEY:
        key = (yield from source.short(_KEY_END)).strip()
        yield from source.space()
        yield from source.expect(_VALUE)
        value, tag = yield from source.value(_VALUE_END, (_KEY, close))
        values.append((key, value))
    return offer.from_texts(name, values)
