"""Pages of spec files, search-file.md and goal-file.md, and their JSON Schemas, from the published schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from rundry.agent.settings.search.search_tables import TABLES
from rundry.agent.settings.spec_files.goal_tables import GOAL_TABLES
from rundry.agent.settings.spec_files.spec_schema import spec_schema
from rundry.agent.settings.spec_files.toml_values import ParameterTable, Table
from rundry.tui.cli.print_recipes import SCHEMA_KINDS, schema_of_kind
from rundry.tui.cli.root import cli

from .markdown import code, page, table
from .words import head

_LISTS = ("lens", "seed")
_WORDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "`true` or `false`",
    "object": "table",
}


def pages() -> dict[str, str]:
    return {"search-file.md": _page("find", TABLES), "goal-file.md": _page("goal", GOAL_TABLES)}


def schemas() -> dict[str, str]:
    """Map the file of each schema to its text, which is what `rundry schema` prints."""
    return {f"{kind}.schema.json": json.dumps(schema_of_kind(kind, cli), indent=2) + "\n" for kind in SCHEMA_KINDS}


def _page(kind: Literal["find", "goal"], tables: Mapping[str, type[Table]]) -> str:
    schema = spec_schema(kind)
    lines = head(f"{'search' if kind == 'find' else kind}-file")
    for name, each in {**tables, "parameters.NAME": ParameterTable}.items():
        title = "Top level" if not name else f"[[{name}]]" if name in _LISTS else f"[{name}]"
        node = schema["$defs"][each.__name__] if name else schema
        lines += [f"## {title}", "", *table(("key", "meaning", "type", "default"), _rows(node, each, tables, schema))]
    return page(lines)


def _rows(
    node: dict[str, Any], kind: type[Table], tables: Mapping[str, type[Table]], schema: dict[str, Any]
) -> list[tuple[str, ...]]:
    about = node["properties"]
    return [
        (code(field.name), about[field.name]["description"], _type(about[field.name], schema), _default(field))
        for field in msgspec.structs.fields(kind)
        if field.name not in (*tables, "parameters")
    ]


def _type(node: dict[str, Any], schema: dict[str, Any]) -> str:
    """Return what a value is, without the placeholders that are possible everywhere."""
    if "$ref" in node:
        return _type(schema["$defs"][node["$ref"].rpartition("/")[2]], schema)
    if "const" in node:
        return code(node["const"])
    if "enum" in node:
        return " or ".join(code(str(value)) for value in node["enum"])
    if "anyOf" in node:
        given = [one for one in node["anyOf"] if not one.get("$ref", "").endswith("/placeholder")]
        return " or ".join(_type(one, schema) for one in given)
    if node["type"] == "array":
        return f"list of: {_type(node['items'], schema)}"
    least, most = node.get("minimum"), node.get("maximum")
    bounds = "" if least is None else f", at least {least}" if most is None else f", {least} to {most:,}"
    return _WORDS[node["type"]] + bounds


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    value = field.default if field.default is not msgspec.NODEFAULT else None
    return "" if value in (None, "") else code(msgspec.json.encode(value).decode())
