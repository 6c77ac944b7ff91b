"""Read the list of a server's tools. Names, descriptions and schemas are foreign text: cleaned, bounded, or refused."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from ...protocol import McpServer, ToolSpec
from ...protocol.text.shorten_text import noted_cut
from ...protocol.tools.mcp import offered_name

MOST_TOOLS = 64
LONGEST_DESCRIPTION = 2_000
LONGEST_INSTRUCTIONS = 2_000
"""Characters of a server's instructions that reach the model."""
INSTRUCTIONS = ""
"""The key of the instructions among the digests of tools: no tool has an empty name."""
LONGEST_SCHEMA = 16_000
"""Characters of the JSON of a schema."""
_DEEPEST = 20
_LONGEST_NAME = 200
_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""Control, invisible and bidirectional characters."""
_HINTS = {
    "readOnlyHint": "only reads",
    "destructiveHint": "can destroy data",
    "openWorldHint": "reaches other systems",
}
_CHECKED = frozenset(
    ("type", "properties", "required", "enum", "const", "items", "additionalProperties", "anyOf", "allOf")
)
"""Keywords with which arguments are compared. `pattern` could take endless time, and `$ref` could be endless."""


class McpTool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool of a server."""

    server: str
    name: str
    """The server's own name."""
    offered: str
    """The name for the model."""
    description: str
    schema: dict[str, Any]
    """JSON Schema of its arguments."""
    claims: list[str]
    """What the server says about the tool, in words. It is shown and never trusted."""
    digest: str
    """Digest of everything that the server says about the tool."""

    @property
    def spec(self) -> ToolSpec:
        """The tool as offered to the model."""
        return ToolSpec(self.offered, f"[MCP server {self.server}] {self.description}".rstrip(), self.schema)

    def problem_of(self, arguments: object) -> str | None:
        """Return why the arguments do not fit the schema, or None if they do."""
        from jsonschema.validators import Draft202012Validator

        validator: Any = Draft202012Validator(_checkable(self.schema))
        found: Any = next(validator.iter_errors(arguments), None)
        if found is None:
            return None
        place = ".".join(str(part) for part in found.absolute_path)
        return f"{place}: {found.message[:300]}" if place else str(found.message)[:300]


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """The tools of a server."""

    tools: list[McpTool]
    refused: list[str]
    """Tools that cannot be offered, and why, one line each."""
    instructions: str = ""
    """What the server says about the use of its tools, cleaned and bounded. Empty means that it says nothing."""

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each tool, by the server's own name, and that of the instructions."""
        said = self.instructions.encode("utf-8", "replace")
        own = {INSTRUCTIONS: hashlib.sha256(said).hexdigest() if said else ""}
        return own | {tool.name: tool.digest for tool in self.tools}


def read_listing(server: McpServer, raw: Sequence[Mapping[str, Any]], instructions: str = "") -> Listing:
    """Return the tools of a server's list that can be offered. Those that the user did not list are left out."""
    found: dict[str, McpTool] = {}
    refused: list[str] = []
    names: set[str] = set()
    for row in raw:
        name = str(row.get("name", ""))
        if server.tools is not None and name not in server.tools:
            continue
        shown = clean(name)[:80] or "a tool without a name"
        read = _read(server, name, row) if name not in names else "it is listed twice"
        names.add(name)
        if isinstance(read, McpTool) and read.offered in found:
            read = f"another tool has the name {read.offered} already"
        if isinstance(read, McpTool) and len(found) >= MOST_TOOLS:
            read = f"the server has more than {MOST_TOOLS} tools: list those that you need in `tools`"
        if isinstance(read, str):
            refused.append(f"{shown}: {read}")
        else:
            found[read.offered] = read
    missing = [name for name in server.tools or [] if name not in names]
    refused += [f"{clean(name)}: the server has no such tool" for name in missing]
    said = noted_cut(clean(instructions).strip(), LONGEST_INSTRUCTIONS)
    return Listing(tools=list(found.values()), refused=refused[:MOST_TOOLS], instructions=said)


def _read(server: McpServer, name: str, row: Mapping[str, Any]) -> McpTool | str:
    """Return the tool, or why it cannot be offered."""
    if not name or len(name) > _LONGEST_NAME:
        return f"its name has {len(name):,} characters (at most {_LONGEST_NAME})"
    schema = row.get("inputSchema")
    if not isinstance(schema, dict):
        return "it has no schema of its arguments"
    schema = cast("dict[str, Any]", schema)
    if _depth(schema) > _DEEPEST:
        return f"its schema is nested more than {_DEEPEST} levels deep"
    size = len(json.dumps(schema, ensure_ascii=False))
    if size > LONGEST_SCHEMA:
        return f"its schema has {size:,} characters (at most {LONGEST_SCHEMA:,})"
    if why := _invalid(schema):
        return f"its schema is invalid: {why}"
    hints = row.get("annotations")
    hints = cast("dict[str, Any]", hints) if isinstance(hints, dict) else {}
    return McpTool(
        server=server.name,
        name=name,
        offered=offered_name(server.name, name),
        description=noted_cut(clean(str(row.get("description") or row.get("title") or "")), LONGEST_DESCRIPTION),
        schema=cast("dict[str, Any]", _cleaned({**schema, "properties": schema.get("properties") or {}})),
        claims=[words for hint, words in _HINTS.items() if hints.get(hint) is True],
        digest=hashlib.sha256(json.dumps(row, sort_keys=True).encode("utf-8", "surrogateescape")).hexdigest(),
    )


def clean(text: str) -> str:
    """Return the text without control sequences, invisible characters and halves of characters."""
    plain = _HIDDEN.sub("", text.replace("\r\n", "\n"))
    return "".join(character for character in plain if unicodedata.category(character) != "Cs")


def _cleaned(value: object) -> object:
    if isinstance(value, str):
        return noted_cut(clean(value), LONGEST_DESCRIPTION)
    if isinstance(value, list):
        return [_cleaned(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return {clean(key): _cleaned(item) for key, item in items if key not in ("$schema", "$id")}
    return value


def _depth(value: object, limit: int = _DEEPEST + 1) -> int:
    """Return the levels of nesting, counted up to the limit."""
    if limit == 0 or not isinstance(value, (dict, list)):
        return 0
    inner = cast("dict[str, object]", value).values() if isinstance(value, dict) else cast("list[object]", value)
    return 1 + max((_depth(item, limit - 1) for item in inner), default=0)


def _invalid(schema: dict[str, Any]) -> str | None:
    """Return why it is not a JSON Schema of an object."""
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator

    if schema.get("type", "object") != "object" or not isinstance(schema.get("properties", {}), dict):
        return "its type is not an object"
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return clean(error.message)[:200]
    return None


def _checkable(schema: object) -> Any:  # noqa: ANN401 - a JSON Schema
    """Return the part of a schema with which arguments can be compared in bounded time."""
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Any] = {}
    for key, value in cast("dict[str, Any]", schema).items():
        if key not in _CHECKED:
            continue
        if key == "properties":
            found[key] = {name: _checkable(each) for name, each in value.items()}
        elif key in ("anyOf", "allOf"):
            found[key] = [_checkable(each) for each in value]
        elif key in ("items", "additionalProperties"):
            found[key] = _checkable(value)
        else:
            found[key] = value
    return found
