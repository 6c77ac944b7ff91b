"""Read calls in one code fence at the end of an answer: JSON, or Python as Gemma 3 writes it."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

from ..answer_source import NotACall, Source, Steps
from ..call_tags import is_about_calls
from .llama import likely_object

if TYPE_CHECKING:
    from ....protocol import ToolCall
    from ..offered_calls import OfferedTools

_FENCE = "```"
_JSON = frozenset({"", "json", "jsonl", "json5"})
"""Languages of a fence that may hold calls in JSON, besides names that are about calls."""
_LONGEST = 1024 * 1024
"""Most characters of Python that are parsed."""


def read(source: Source, offer: OfferedTools) -> Steps[list[ToolCall]]:
    """Read the language after the opening fence, calls in it, and the end of the fence."""
    language = (yield from source.short("\n")).strip()
    if language == "tool_code":
        return (yield from _read_python(source, offer))
    if language.lower() not in _JSON and not is_about_calls(language):
        raise NotACall
    calls: list[ToolCall] = []
    while not (yield from source.match((_FENCE,))):
        begun = yield from source.space()
        begun += yield from source.match(("[",))
        begun += yield from source.space()
        begun += yield from source.expect("{")
        calls += offer.from_json((yield from likely_object(source, begun)), whole=True)
        yield from source.space()
    if not calls:
        raise NotACall
    return calls


def _read_python(source: Source, offer: OfferedTools) -> Steps[list[ToolCall]]:
    """Read calls with constant arguments, one in each statement, and the end of the fence."""
    code = yield from source.until("\n" + _FENCE)
    if len(code) > _LONGEST:
        raise NotACall
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an unknown escape in a string literal
            statements = ast.parse(code.strip()).body
        calls = [_call(statement, offer) for statement in statements]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as e:
        raise NotACall from e
    if not calls:
        raise NotACall
    return calls


def _call(statement: ast.stmt, offer: OfferedTools) -> ToolCall:
    node = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print" and node.args:
        node = node.args[0]
    if not isinstance(node, ast.Call):
        raise NotACall
    match node.func:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="default_api"), attr=name):
            parameters = offer.parameters(offer.name(name))
        case _:
            raise NotACall
    values = {key: ast.literal_eval(value) for key, value in zip(parameters, node.args, strict=False)}
    if len(node.args) > len(parameters) or any(word.arg is None for word in node.keywords):
        raise NotACall
    return offer.from_values(name, values | {str(word.arg): ast.literal_eval(word.value) for word in node.keywords})
