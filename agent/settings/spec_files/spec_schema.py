"""The JSON Schema of spec files, generated from their tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec

from ..search.search_tables import SpecFile
from .goal_tables import GoalFile

if TYPE_CHECKING:
    from .toml_values import Table

SpecKind = Literal["find", "goal"]
PLACEHOLDER = r"^\{set:[a-z][a-z0-9_-]*\}$"
"""A text that is one placeholder and nothing else."""
Node = dict[str, Any]
Step = str | int
"""A key of a table, or an index of a list from 0 on."""
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_FILLED = {"$ref": "#/$defs/placeholder"}


def spec_schema(kind: SpecKind) -> Node:
    """Return the schema with which an editor checks spec files of this kind.

    A placeholder can stand wherever a value of its type can.
    """
    tables = GoalFile if kind == "goal" else SpecFile
    raw = msgspec.json.schema(tables)
    defs = cast("dict[str, Node]", raw["$defs"])
    whole = defs.pop(tables.__name__)
    made: Node = {name: _with_placeholders(node) for name, node in defs.items() if name != "ParameterTable"}
    made["ParameterTable"] = _plain(defs["ParameterTable"])
    made["placeholder"] = {
        "type": "string",
        "pattern": PLACEHOLDER,
        "description": "`{set:NAME}` stands for the value of a parameter.",
    }
    head = {"$schema": _DRAFT, "$id": f"urn:rundry:{kind}", "title": f"rundry {kind}"}
    body = _with_placeholders({**whole, "title": head["title"]})
    if "kind" in body["properties"]:
        body["properties"]["kind"] = {"const": kind, "description": whole["properties"]["kind"]["description"]}
    return {**head, **body, "$defs": made}


def node_at(tables: type[Table], path: Sequence[Step]) -> Node:
    """Return the schema of the value at a path, without placeholders; an empty one for an unknown path."""
    raw = msgspec.json.schema(tables)
    node: Node = {"$ref": raw["$ref"]}
    for step in path:
        node = _resolved(node, raw["$defs"])
        if isinstance(step, int):
            node = node.get("items", {})
        else:
            extra = node.get("additionalProperties")
            node = node.get("properties", {}).get(step) or (cast("Node", extra) if isinstance(extra, dict) else {})
    return _resolved(node, raw["$defs"])


def _resolved(node: Node, defs: dict[str, Node]) -> Node:
    """Return the node behind a reference. Of several possible ones, null is left out."""
    if "$ref" in node:
        return _resolved(defs[node["$ref"].rpartition("/")[2]], defs)
    given = [one for one in node.get("anyOf", ()) if one.get("type") != "null"]
    return _resolved(given[0], defs) if len(given) == 1 else node


def takes_text(node: Node) -> bool:
    """Return whether the value can be any text."""
    return any(one.get("type") == "string" and "enum" not in one for one in node.get("anyOf", (node,)))


def _plain(node: Node) -> Node:
    """Return the node without null, which TOML does not have, and without defaults that say nothing."""
    made: Node = {}
    for key, value in node.items():
        if key == "anyOf":
            given = [_plain(one) for one in value if one.get("type") != "null"]
            made |= given[0] if len(given) == 1 else {"anyOf": given}
        elif key == "properties":
            made[key] = {name: _plain(one) for name, one in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            made[key] = _plain(cast("Node", value))
        elif not (key == "default" and (value is None or isinstance(value, (dict, list)) or value == "")):
            made[key] = value
    if made.get("required") == []:
        del made["required"]
    return made


def _with_placeholders(node: Node) -> Node:
    made = _plain(node)
    if made.get("type") == "object":
        if "properties" in made:
            made["properties"] = {name: _with_placeholders(one) for name, one in made["properties"].items()}
        return made
    if made.get("type") == "array":
        return {**made, "items": _with_placeholders(made["items"])}
    if "$ref" in made or not made.keys() - {"description", "default"} or _takes_placeholder(made):
        return made
    kept = {key: made.pop(key) for key in ("description", "default") if key in made}
    given = made.get("anyOf", [made])
    return {**kept, "anyOf": [*given, _FILLED]}


def _takes_placeholder(node: Node) -> bool:
    """Return whether a placeholder is possible as it is: the value can be any text that is not empty."""
    texts = [one for one in node.get("anyOf", (node,)) if one.get("type") == "string" and "enum" not in one]
    return any(one.get("pattern") in (None, r"\S") for one in texts)
