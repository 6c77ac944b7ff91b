"""The JSON Schema of what a reader of option values takes, kept with the reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Node = dict[str, Any]
Reader = TypeVar("Reader", bound=Callable[..., object])
_SCHEMAS: dict[Callable[..., object], Node] = {}

LINE: Node = {"type": "string", "pattern": r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"}
"""A text in one line that is not empty."""
COMMAND: Node = {"type": "string", "pattern": r"\S"}
"""A command, which may have several lines."""
ADDRESS: Node = {"type": "string", "pattern": r"^\s*[Hh][Tt][Tt][Pp][Ss]?://\S+\s*$"}
DURATION: Node = {"type": "string", "pattern": r"^[\s0-9._,msdhMSDH]*[0-9][\s0-9._,msdhMSDH]*$"}
DURATION_OR_NONE: Node = {"type": "string", "pattern": rf"{DURATION['pattern']}|^\s*[Nn][Oo][Nn][Ee]\s*$"}
FLAG: Node = {"type": "boolean"}


def takes(node: Node) -> Callable[[Reader], Reader]:
    """Return a decorator that states the schema of what a reader takes."""

    def mark(read: Reader) -> Reader:
        _SCHEMAS[read] = node
        return read

    return mark


def schema_of(read: Callable[..., object]) -> Node:
    """Return the schema of what this reader takes. Raises KeyError for a reader without one."""
    return _SCHEMAS[read]


def listed(node: Node) -> Node:
    """Return the schema of a list, for which one value may also stand alone."""
    return {"anyOf": [node, {"type": "array", "items": node}]}


def table(properties: dict[str, Node], *required: str, least: int = 0) -> Node:
    """Return the schema of a table with these keys and no others."""
    made: Node = {"type": "object", "properties": properties, "additionalProperties": False}
    made |= {"required": list(required)} if required else {}
    return made | ({"minProperties": least} if least else {})
