"""Page of the file that describes a search: search-file.md, from its structs."""

from __future__ import annotations

from typing import Any

import msgspec

from rundry.agent.config.finder.tables import TABLES

from .documented import annotations
from .markdown import code, page, table
from .words import WORDS, head

_LISTS = ("lens", "seed")


def pages() -> dict[str, str]:
    lines = head("search-file")
    for name, kind in TABLES.items():
        title = "Top level" if not name else f"[[{name}]]" if name in _LISTS else f"[{name}]"
        lines += [f"## {title}", "", *table(("key", "meaning", "type", "default"), _rows(name, kind))]
    return {"search-file.md": page(lines)}


def _rows(table_name: str, kind: type[Any]) -> list[tuple[str, ...]]:
    types = annotations(kind)
    return [
        (code(field.name), WORDS["search"][table_name or "top"][field.name], code(types[field.name]), _default(field))
        for field in msgspec.structs.fields(kind)
        if field.name not in TABLES
    ]


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    value = field.default if field.default is not msgspec.NODEFAULT else None
    return "" if value is None else code(msgspec.json.encode(value).decode())
