"""Build calls of offered tools from what a family's reader found. Raises NotACall for anything else."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, cast

import msgspec

from ...protocol import ToolCall, ToolSpec
from ...protocol.text.double_keys import double_key
from .answer_source import NotACall
from .call_tags import is_about_calls

_BROKEN = (ValueError, TypeError, OverflowError, RecursionError, msgspec.MsgspecError)
_NAMES = ("", "name", "tool_name", "function_name")
"""Fields that name the tool, in the order in which they count, besides those that are about calls (`tool`)."""
_ARGUMENTS = ("arguments", "parameters", "args", "params", "input")
_LABELS = frozenset({"id", "call_id", "tool_call_id", "type", "index"})
"""Fields and attributes of a call that are not arguments, unless the tool has such a parameter."""
_DEEPEST = 4
"""Wrappers around a call, such as `{"tool_calls": [{"function": {...}}]}`."""
_LONGEST_PYTHON = 100_000
"""Most characters of a Python literal that are parsed."""
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

    def naming(self, fields: Mapping[str, object]) -> str | None:
        """Return the field or attribute that names an offered tool (that of `<function=NAME>` has an empty name)."""
        named = (key for key in (*_NAMES, *fields) if isinstance(name := fields.get(key), str) and name in self._tools)
        return next((key for key in named if key in _NAMES or is_about_calls(key)), None)

    def has_arguments(self, name: str, fields: Mapping[str, object]) -> bool:
        """Return whether fields next to a tool's name, such as attributes, are arguments."""
        known = self._properties(name)
        return any(key in known or key in _ARGUMENTS or _is_object(value) for key, value in fields.items())

    def from_json(self, text: str, *, whole: bool = False) -> list[ToolCall]:
        """Return the calls in a JSON object or array; with `whole` each must have a name and arguments."""
        return self._from_value(decoded(text), whole=whole, depth=0)

    def from_arguments(self, name: str, text: str) -> ToolCall:
        """Return the call of a named tool with JSON arguments."""
        return self._call(self.name(name), self._unwrapped(name, _object(decoded(text))))

    def from_fields(self, name: str, fields: Mapping[str, object]) -> ToolCall:
        """Return the call whose arguments are one of these fields (an object, also as text) or the fields themselves.

        Which one is observed: it is the field with the conventional name, or the only object that is not a parameter.
        """
        known = self._properties(name)
        given = {k: v for k, v in fields.items() if v is not None and (k in known or k not in _LABELS)}
        flat = {k: v for k, v in given.items() if k in known and k not in _ARGUMENTS}
        rest = {k: v for k, v in given.items() if k not in flat}
        found = [rest[key] for key in _ARGUMENTS if key in rest]
        found = found or [value for value in rest.values() if _is_object(value)]
        if not found:
            return self.from_values(name, given)
        if len(found) > 1:
            raise NotACall
        arguments = {} if found[0] == "" else _as_object(found[0])
        if _is_schema(arguments) and not known.keys() & {"type", "properties"}:
            raise NotACall  # the definition of a tool, as the prompt has it
        return self._call(name, flat | arguments)

    def from_children(self, name: str, values: Mapping[str, object]) -> ToolCall:
        """Return the call of a named tool with untyped values, or with all arguments as JSON in one value."""
        if len(values) == 1 and not values.keys() & self._properties(name).keys():
            only = next(iter(values.values()))
            if _is_object(only):
                return self._call(name, _as_object(only))
        return self.from_values(name, values)

    def from_texts(self, name: str, texts: Iterable[tuple[str, str]]) -> ToolCall:
        """Return the call of a named tool with untyped values; the tool's schema gives their types."""
        return self.from_values(name, dict(texts))

    def from_values(self, name: str, values: Mapping[str, object]) -> ToolCall:
        """Return the call of a named tool; texts are converted if the tool's schema needs another type."""
        known = self._properties(self.name(name))
        fitting = {k: _fit(v, known.get(k)) if isinstance(v, str) else v for k, v in values.items()}
        return self._call(name, fitting)

    def _from_value(self, value: object, *, whole: bool, depth: int) -> list[ToolCall]:
        if depth > _DEEPEST:
            raise NotACall
        if isinstance(value, list):
            items = cast(list[object], value)
            if not items:
                raise NotACall
            return [call for each in items for call in self._from_value(each, whole=whole, depth=depth + 1)]
        fields = _object(value)
        key = self.naming(fields)
        if key is not None:
            rest = {k: v for k, v in fields.items() if k != key}
            if whole and not any(_is_object(rest.get(k)) for k in _ARGUMENTS):
                raise NotACall
            return [self.from_fields(fields[key], rest)]
        if any(isinstance(fields.get(k), str) for k in (*_NAMES, "tool", "function", *_ARGUMENTS)):
            raise NotACall
        if not whole and len(fields) == 1 and (name := next(iter(fields))) in self._tools:
            return [self._call(name, fields[name])]
        wrapped = [cast(object, each) for each in fields.values() if isinstance(each, (dict, list))]
        if len(wrapped) != 1:
            raise NotACall
        return self._from_value(wrapped[0], whole=whole, depth=depth + 1)

    def _unwrapped(self, name: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments in `{"arguments": {...}}`, or the fields if the tool has such a parameter."""
        only = next(iter(fields), "")
        if len(fields) == 1 and only in _ARGUMENTS and only not in self._properties(name) and _is_object(fields[only]):
            return _as_object(fields[only])
        return fields

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
    """Decode a JSON text. Line ends within strings are allowed, because small models forget to escape them.

    A text with a key twice is not a call: nobody knows which value is meant.
    """
    if double_key(text) is not None:
        raise NotACall
    try:
        return msgspec.json.decode(text)
    except _BROKEN:
        pass
    try:
        return json.loads(text, strict=False, parse_constant=_refuse)
    except _BROKEN as e:
        raise NotACall from e


def _is_object(value: object) -> bool:
    try:
        _as_object(value)
    except NotACall:
        return False
    return True


def _as_object(value: object) -> dict[str, Any]:
    """Return the object, which may be JSON in a text, or a Python literal as small models write it."""
    if not isinstance(value, str):
        return _object(value)
    try:
        return _object(decoded(value))
    except NotACall:
        if len(value) > _LONGEST_PYTHON or not value.lstrip().startswith("{"):
            raise
    try:
        return _object(ast.literal_eval(value.strip()))
    except (SyntaxError, MemoryError, *_BROKEN) as e:
        raise NotACall from e


def _is_schema(fields: Mapping[str, object]) -> bool:
    return fields.get("type") == "object" and isinstance(fields.get("properties"), dict)


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
