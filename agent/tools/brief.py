"""Short tool descriptions for models with a small context window."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

import msgspec

from ..protocol import ToolSpec

_ABOUT = {
    "edit_file": "Replace one exact block of lines, which must occur exactly once in the file.",
    "finish": "End the task with an answer and the paths that it comes from.",
}
"""Descriptions that replace the first sentence of the long description."""
_PATHS = {"type": "array", "items": {"type": "string"}}
_TEXT = {"type": "string"}
_FIELDS: dict[str, dict[str, Any]] = {
    "edit_file": {"path": _TEXT, "old_text": _TEXT, "new_text": _TEXT},
    "finish": {"answer": _TEXT, "citations": _PATHS},
}
"""Simpler arguments that the tool accepts too; all of them are required."""


def brief(spec: ToolSpec) -> ToolSpec:
    """Return the tool with a one-sentence description and undescribed arguments."""
    return _brief(spec.name, spec.description, msgspec.json.encode(spec.parameters))


@lru_cache(maxsize=64)
def _brief(name: str, description: str, parameters: bytes) -> ToolSpec:
    about = _ABOUT.get(name) or f"{description.partition('. ')[0].rstrip('.')}."
    fields = _FIELDS.get(name)
    if fields is not None:
        return ToolSpec(name, about, {"type": "object", "properties": fields, "required": list(fields)})
    return ToolSpec(name, about, _undescribed(msgspec.json.decode(parameters)))


def _undescribed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Remove the descriptions from a schema. A property itself may be named `description`."""
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            properties = cast("dict[str, Mapping[str, Any]]", value)
            out[key] = {name: _undescribed(each) for name, each in properties.items()}
        elif key == "items":
            out[key] = _undescribed(value)
        elif key == "anyOf":
            out[key] = [_undescribed(each) for each in cast("list[Mapping[str, Any]]", value)]
        elif key != "description":
            out[key] = value
    return out
