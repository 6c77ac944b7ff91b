"""Build calls of offered tools from what a family's reader found. Raises NotACall for anything else."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, cast

import msgspec

from ...protocol import ToolCall, ToolSpec
from .source import NotACall

_BROKEN = (ValueError, TypeError, OverflowError, RecursionError, msgspec.MsgspecError)
_COMPOSED = ("anyOf", "oneOf", "allOf")
_PYTHON = {"True": True, "False": False, "None": None}


class OfferedTools:
    """The tools of one request by name."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    def __bool__(self) -> bool:
        return bool(self._tools)

    def name(self, text: str) -> str:
        """Return the name if a tool of this name is offered. Raises NotACall."""
        if text not in self._tools:
            raise NotACall
        return text

    def parameters(self, name: str) -> list[str]:
        """Return the names of a tool's parameters in the order of its schema."""
        return list(self._properties(name))

    def from_json(self, text: str, *, whole: bool = False) -> ToolCall:
        """Return the call in one JSON object; with `whole` it must have a name and arguments."""
        return self._from_object(decoded(text), whole=whole)

    def from_list(self, text: str) -> list[ToolCall]:
        """Return the calls in a JSON array."""
        found = decoded(text)
        if not isinstance(found, list) or not found:
            raise NotACall
        return [self._from_object(each, whole=False) for each in cast(list[object], found)]

    def from_arguments(self, name: str, text: str) -> ToolCall:
        """Return the call of a named tool with JSON arguments."""
        return self._call(self.name(name), decoded(text))

    def from_texts(self, name: str, texts: Iterable[tuple[str, str]]) -> ToolCall:
        """Return the call of a named tool with untyped values; the tool's schema gives their types."""
        return self.from_values(name, dict(texts))

    def from_values(self, name: str, values: Mapping[str, object]) -> ToolCall:
        """Return the call of a named tool; texts are converted if the tool's schema needs another type."""
        known = self._properties(self.name(name))
        fitting = {k: _fit(v, known.get(k)) if isinstance(v, str) else v for k, v in values.items()}
        return self._call(name, fitting)

    def _from_object(self, value: object, *, whole: bool) -> ToolCall:
        fields = _object(value)
        function = fields.get("function")
        if isinstance(function, dict):
            fields = cast(dict[str, Any], function)
            function = None
        name = fields.get("name", function)
        given = [fields[key] for key in ("arguments", "parameters") if key in fields]
        if not isinstance(name, str) or (whole and not given):
            raise NotACall
        arguments = given[0] if given else None
        return self._call(self.name(name), decoded(arguments) if isinstance(arguments, str) else arguments)

    def _call(self, name: str, arguments: object) -> ToolCall:
        fields = {} if arguments is None else _object(arguments)
        try:
            text = msgspec.json.encode(fields).decode()
        except _BROKEN as e:
            raise NotACall from e
        return ToolCall(call_id="", tool=name, arguments=text)

    def _properties(self, name: str) -> dict[str, Any]:
        found = self._tools[name].parameters.get("properties")
        return cast(dict[str, Any], found) if isinstance(found, dict) else {}


def decoded(text: str) -> object:
    """Decode a JSON text. Line ends within strings are allowed, because small models forget to escape them."""
    try:
        return msgspec.json.decode(text)
    except _BROKEN:
        pass
    try:
        return json.loads(text, strict=False, parse_constant=_refuse)
    except _BROKEN as e:
        raise NotACall from e


def _refuse(_: str) -> NoReturn:
    raise NotACall


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise NotACall
    return cast(dict[str, Any], value)


def _fit(text: str, schema: object) -> object:
    """Convert the text to the schema's type, or return it unchanged: validation then reports it."""
    types = _types(schema)
    if not types or (types - {"null"} == {"string"} and text != "null"):
        return text
    bare = text.strip()
    try:
        value = _PYTHON[bare] if bare in _PYTHON else decoded(bare)
    except NotACall:
        return text
    return value if _type(value) & types else text


def _types(schema: object) -> set[str]:
    """Return the JSON types that the schema allows; empty if it does not say."""
    if not isinstance(schema, dict):
        return set()
    fields = cast(dict[str, Any], schema)
    named = fields.get("type")
    types: set[str] = {named} if isinstance(named, str) else set(named or ())
    types |= {each for value in fields.get("enum", ()) for each in _type(value)}
    for key in _COMPOSED:
        for part in fields.get(key, ()):
            types |= _types(part)
    return types


def _type(value: object) -> set[str]:
    match value:
        case None:
            return {"null"}
        case bool():
            return {"boolean"}
        case str():
            return {"string"}
        case int():
            return {"integer", "number"}
        case float():
            return {"number"}
        case list():
            return {"array"}
        case _:
            return {"object"}
