"""Pages of events and their types: events-*.md and types.md, from the structs of the protocol."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any, get_args

import msgspec
import msgspec.inspect as shape

from rundry.agent.protocol import KnownEvent, event_name

from .documented import annotations, field_texts, text_of
from .markdown import cell, code, packed
from .words import head

_GROUPS = {
    "run_events": "Events of a run",
    "pass_events": "Events of passes",
    "step": "Events of a step",
    "answers": "Events of answers in a file format",
    "waits": "Events about what a run waits for",
    "check": "Events of checks, scores and protected files",
    "person": "Events between the run and a person",
    "wheel": "Events of control, shell commands and background commands",
    "finder_events": "Events of a search",
    "tries": "Events of tries",
    "worktrees": "Events of worktrees",
    "layers": "Events of layers",
    "confirm": "Events of a confirmation",
    "judged": "Events of the judge",
    "children": "Events of child runs",
}
"""Module of the events to the title of its page."""


def pages() -> dict[str, str]:
    kinds = list(get_args(KnownEvent))
    found: dict[str, str] = {}
    for module, title in _GROUPS.items():
        sections = [_struct(kind, event_name(kind)) for kind in kinds if _module(kind) == module]
        found |= packed(f"events-{module.removesuffix('_events')}", [f"# {title}", "", *head("events")], sections)
    others = sorted({_module(kind) for kind in kinds} - set(_GROUPS))
    if others:
        raise LookupError(f"events without a page: add {', '.join(others)} to _GROUPS in {__file__}")
    types = sorted(_named_types(kinds), key=lambda kind: kind.__name__)
    sections = [_enum(kind) if issubclass(kind, enum.Enum) else _struct(kind, kind.__name__) for kind in types]
    return found | packed("types", head("types"), sections)


def _module(kind: type[Any]) -> str:
    return kind.__module__.rpartition(".")[2]


def _struct(kind: type[Any], name: str) -> list[str]:
    types, texts = annotations(kind), field_texts(kind)
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    lines = [f"## {name}", "", *filter(None, [text_of(kind)]), *([""] if text_of(kind) else [])]
    for field, type_ in types.items():
        if field in fields:
            text = texts.get(field, "")
            values = _choices(shape.type_info(fields[field].type))
            about = " ".join(filter(None, [text, f"One of {', '.join(map(code, values))}." if values else ""]))
            lines.append(f"- `{field}` {code(type_)}{_default(fields[field])}{': ' if about else ''}{cell(about)}")
    return [*lines, ""]


def _choices(info: Any) -> list[str]:
    """Return the values of a literal type, also of one that can be None."""
    if isinstance(info, shape.UnionType):
        return [value for each in info.types for value in _choices(each)]
    return [str(value) for value in info.values] if isinstance(info, shape.LiteralType) else []


def _enum(kind: type[enum.Enum]) -> list[str]:
    texts = field_texts(kind)
    rows = [f"- `{each.value}`{': ' if each.name in texts else ''}{texts.get(each.name, '')}" for each in kind]
    return [f"## {kind.__name__}", "", *filter(None, [text_of(kind)]), "", *rows, ""]


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return ""
    if field.default is not msgspec.NODEFAULT:
        value = field.default
    elif field.default_factory in (list, dict):
        value = field.default_factory()
    else:
        return ", default: empty"
    if isinstance(value, msgspec.Struct):
        return ", default: empty"
    plain = value.value if isinstance(value, enum.Enum) else value
    return f", default {code(msgspec.json.encode(plain).decode())}"


def _named_types(kinds: list[type[Any]]) -> set[type[Any]]:
    found: set[type[Any]] = set()
    for kind in kinds:
        for field in shape.type_info(kind).fields:  # type: ignore[attr-defined]
            found |= set(_inside(field.type))
    return found


def _inside(info: Any) -> Iterator[type[Any]]:
    if isinstance(info, shape.StructType):
        yield info.cls
        for field in info.fields:
            yield from _inside(field.type)
    elif isinstance(info, shape.EnumType):
        yield info.cls
    elif isinstance(info, shape.UnionType):
        for each in info.types:
            yield from _inside(each)
    elif isinstance(info, (shape.ListType, shape.VarTupleType)):
        yield from _inside(info.item_type)
    elif isinstance(info, shape.DictType):
        yield from _inside(info.value_type)
