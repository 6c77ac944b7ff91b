"""Read calls in a code fence at the end of an answer: one JSON object, or Python as Gemma 3 writes it."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

from ..source import NotACall, Source, Steps
from .llama import likely_object

if TYPE_CHECKING:
    from ....protocol import ToolCall
    from ..offer import OfferedTools

_FENCE = "```"
_LONGEST = 1024 * 1024
"""Most characters of Python that are parsed."""


def read_json(source: Source, offer: OfferedTools) -> Steps[list[ToolCall]]:
    """Read one JSON object and the end of the fence."""
    gap = yield from source.space()
    yield from source.expect("{")
    call = offer.from_json((yield from likely_object(source, gap + "{")), whole=True)
    yield from source.space()
    yield from source.expect(_FENCE)
    return [call]


def read_python(source: Source, offer: OfferedTools) -> Steps[list[ToolCall]]:
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
