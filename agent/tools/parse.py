"""Parse the arguments of a tool call, or return an error that the model can act on."""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ..host.meant_paths import meant_path
from ..protocol.text.double_keys import double_key
from ..protocol.tools.traits import TOOL_TRAITS
from .mcp_drafts import McpCall
from .tool_table import TOOLS, usage

if TYPE_CHECKING:
    from ..extend.mcp.mcp_servers import McpServers
    from ..extend.mcp.tool_listing import McpTool
    from ..host.workspace_paths import Workspace
    from .tool import Tool

_PRIVILEGED = re.compile(
    r"cwd|work(ing)?_?dir(ectory)?|root|chdir|env(ironment)?|user|run_?as|sudo|shell|network|.*sandbox.*|.*dangerous.*"
    r"|.*permission.*|.*approv.*|.*writ(e)?able.*|.*escalat.*|.*unsafe.*|.*bypass.*|force|trust(ed)?|background|guard",
    re.IGNORECASE,
)
"""Fields that would let a model choose where a tool acts and with which rights (CVE-2025-59532, CVE-2026-42074)."""
_ALIASES: dict[str, tuple[str, ...]] = {
    "path": ("file_path", "filepath", "filename", "file", "directory", "dir", "folder"),
    "content": ("contents", "text", "file_text", "file_content"),
    "command": ("cmd", "command_line", "script"),
    "old_text": ("old_string", "old_str", "old", "search", "find"),
    "new_text": ("new_string", "new_str", "new", "replace", "replacement"),
    "pattern": ("query", "regex", "glob"),
    "start_line": ("start", "line_start", "from_line"),
    "end_line": ("end", "line_end", "to_line"),
    "timeout": ("timeout_seconds", "seconds"),
    "question": ("text", "message", "prompt"),
    "answer": ("text", "result", "message", "summary"),
    "lines": ("plan", "steps", "items"),
}
"""Field names that models trained on other tools use; accepted if the field itself is missing."""
_IN_A_FOLDER = " To work in a subfolder write `cd FOLDER && ...`."
_ADVICE = {"background": " start_command starts a command in the background."}
_DEEPEST = 100
"""Levels of nesting. Decoders and encoders recurse, and fail at about a thousand."""
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_LONGEST_KEY = 60
_SHORT = 16
"""Longest field name that the person's screen shows."""
_FENCED = re.compile(r"\A\s*```(?:json)?\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """The parsed arguments of a call."""

    arguments: msgspec.Struct | None = None
    """None means that the arguments are invalid, and `error` says why."""
    error: str | None = None
    summary: str = "wrong call"
    """What is wrong, for the person, in two or three words."""
    raw: Any = None
    """The parsed JSON, or None if the text was not JSON."""
    repaired: bool = False
    """The text was not valid JSON, and its syntax was repaired."""


def parse_call(name: str, raw: str, names: Sequence[str] | None, servers: McpServers) -> Parsed:
    """Check a call of a tool of this program or of an MCP server. `names`: the offered tools. Never raises."""
    tool = servers.find(name) if names is None or name in names else None
    if tool is not None:
        return _parsed_for_server(tool, raw)
    if why := servers.why_not(name):
        return Parsed(error=f"{why}. Do not repeat the call: use another tool.", summary="not offered")
    return parse_arguments(name, raw, names)


def _parsed_for_server(tool: McpTool, raw: str) -> Parsed:
    value, is_repaired, problem = _value_of(raw)
    if problem is None and not isinstance(value, dict):
        problem = "the arguments are not a JSON object"
    arguments = cast("dict[str, Any]", value)
    problem = problem or tool.problem_of(arguments)
    if problem is not None:
        return Parsed(error=f"{tool.offered}: {problem}.", raw=value, repaired=is_repaired)
    return Parsed(arguments=McpCall(tool, arguments), raw=value, repaired=is_repaired)


def parse_arguments(tool: str, raw: str, names: Sequence[str] | None = None) -> Parsed:
    """Check the tool and its arguments. `names`: the offered tools. None means all. Never raises."""
    allowed = list(TOOLS) if names is None else [name for name in names if name in TOOLS]
    exact = tool in allowed and TOOLS[tool].plan is not None and TOOLS[tool].read is None
    if _is_deep(raw):
        if tool not in allowed:
            return Parsed(error=_no_such_tool(tool, allowed))
        return Parsed(error=f"{tool}: the arguments are nested more than {_DEEPEST} levels deep. {usage(tool)}.")
    value, repaired, problem = _decode(raw, exact=exact)
    if tool not in allowed:
        return Parsed(error=_no_such_tool(tool, allowed), raw=value, repaired=repaired)
    if problem is not None:
        return Parsed(error=f"{tool}: {problem}. {usage(tool)}, as one JSON object.")
    if not isinstance(value, dict):
        return Parsed(error=f"{tool}: the arguments are not a JSON object. {usage(tool)}.", raw=value)
    fields = cast("dict[str, Any]", value)
    forbidden = _forbidden_field(TOOLS[tool], fields)
    if forbidden is not None:
        summary = f"may not set {forbidden}" if len(forbidden) <= _SHORT else "may not set that"
        return Parsed(error=_refused_field(tool, forbidden), summary=summary, raw=fields, repaired=repaired)
    try:
        arguments = msgspec.convert(_known_fields(TOOLS[tool], fields), TOOLS[tool].arguments, strict=False)
    except msgspec.ValidationError as wrong:
        return Parsed(error=f"{tool}: {_readable(wrong)}. {usage(tool)}.", raw=fields, repaired=repaired)
    return Parsed(arguments=arguments, raw=fields, repaired=repaired)


def with_meant_path(tool: str, parsed: Parsed, workspace: Workspace) -> Parsed:
    """Return the call with the intended path, also in the arguments that are recorded and shown."""
    traits = TOOL_TRAITS.get(tool)
    field = None if traits is None else traits.path
    given = None if field is None or parsed.arguments is None else getattr(parsed.arguments, field, None)
    if traits is None or field is None or parsed.arguments is None or not isinstance(given, str):
        return parsed
    path = meant_path(workspace, given, is_new=tool in ("write_file", "wait_for"))
    if path == given:
        return parsed
    raw = parsed.raw
    if isinstance(raw, dict):
        raw = {name: path if value == given else value for name, value in cast("dict[str, Any]", raw).items()}
    return msgspec.structs.replace(
        parsed, arguments=msgspec.structs.replace(parsed.arguments, **{field: path}), raw=raw
    )


def _value_of(raw: str) -> tuple[Any, bool, str | None]:
    """Return the JSON value of a call's arguments, whether its syntax was repaired, and what is wrong, if anything.

    A repair changes no text in it. Never raises.
    """
    if _is_deep(raw):
        return None, False, f"the arguments are nested more than {_DEEPEST} levels deep"
    return _decode(raw, exact=True)


def _is_deep(raw: str) -> bool:
    """Return whether the brackets are nested too deeply. Brackets in strings do not count."""
    depth = 0
    for match in _BRACKET.finditer(raw):
        bracket = match[0]
        depth += 1 if bracket in "{[" else -1 if bracket in "}]" else 0
        if depth > _DEEPEST:
            return True
    return False


def _decode(raw: str, *, exact: bool) -> tuple[Any, bool, str | None]:
    """Return the value, whether the text was repaired, and what is wrong if it could not be.

    `exact`: a repair must not change any string, because they go to disk or to a shell.
    """
    if not raw.strip():
        return {}, False, None
    try:
        value = json.loads(raw)
        repaired_value = False
        if problem := _has_double_key(raw):
            return None, False, problem
    except (ValueError, RecursionError):
        value, problem = _repair(raw, exact=exact)
        if problem is not None:
            return None, False, problem
        repaired_value = True
    if isinstance(value, str) and value.lstrip().startswith("{"):  # JSON within JSON
        inner, _, problem = _decode(value, exact=exact)
        return (inner, True, None) if problem is None else (None, False, problem)
    problem = _unusable(value)
    if problem is not None:
        return None, False, problem
    return ({} if value is None else value), repaired_value, None


def _repair(raw: str, *, exact: bool) -> tuple[dict[str, Any] | None, str | None]:
    """Repair only the syntax. Text that was cut off is never completed, because half a file would be written."""
    fenced = _FENCED.match(raw)
    text = fenced[1] if fenced else raw.strip()
    for read in (lambda: json.loads(text, strict=False), lambda: ast.literal_eval(text)):
        try:
            value = read()
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        if isinstance(value, dict):
            return cast("dict[str, Any]", value), _has_double_key(text)
    if not _is_whole(text):
        return None, "the arguments are incomplete: the JSON was cut off or a quote is missing"
    from json_repair import repair_json

    repaired_value: object = repair_json(text, return_objects=True)
    if not isinstance(repaired_value, dict):
        return None, "the arguments are not JSON"
    fields: dict[str, Any] = repaired_value
    if exact and not all(f'"{string}"' in text for string in _strings(fields)):
        return None, "the arguments are not valid JSON: escape quotes and line ends within strings"
    return fields, _has_double_key(text)


def _has_double_key(text: str) -> str | None:
    key = double_key(text)
    return None if key is None else f"the arguments have the key `{key[:_LONGEST_KEY]}` twice: give it once"


def _strings(value: object) -> Generator[str]:
    """Yield every string value as JSON spells it."""
    if isinstance(value, str):
        yield json.dumps(value, ensure_ascii=False)[1:-1]
    elif isinstance(value, dict):
        for item in cast("dict[str, object]", value).values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _strings(item)


def _is_whole(text: str) -> bool:
    """Return whether every bracket and quote is closed and nothing follows the last one, so nothing was cut off."""
    depth, inside, skip = 0, False, False
    for i, character in enumerate(text):
        if skip:
            skip = False
        elif inside:
            skip, inside = character == "\\", character != '"'
        elif character == '"':
            inside = True
        elif character in "{[":
            depth += 1
        elif character in "}]":
            depth -= 1
            if depth == 0:
                return i == len(text) - 1
    return False


def _unusable(value: object) -> str | None:
    """Return why an event cannot store the value."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "the arguments hold half a character (a lone surrogate)"
    except TypeError:
        return "the arguments are not JSON"
    return None


def _no_such_tool(tool: str, allowed: Sequence[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(tool, allowed, n=1)
    hint = f" Did you mean `{near[0]}`?" if near else ""
    shown = tool if tool.isprintable() and len(tool) <= 80 else repr(tool[:80])
    return f"there is no tool `{shown}`.{hint} There are: {', '.join(allowed)}."


def _forbidden_field(tool: Tool, fields: dict[str, Any]) -> str | None:
    known = set(tool.spec.parameters["properties"])
    for name in fields:
        if name not in known and _PRIVILEGED.fullmatch(name) and not _is_alias(name, known, fields):
            return name
    return None


def _refused_field(tool: str, name: str) -> str:
    advice = _ADVICE.get(name.lower(), _IN_A_FOLDER) if tool == "run_command" else ""
    return f"{tool}: only the person can set `{name}`. Leave it out.{advice}"


def _is_alias(name: str, known: set[str], fields: dict[str, Any]) -> bool:
    return any(name in _ALIASES.get(field, ()) for field in known if field not in fields)


def _known_fields(tool: Tool, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the known fields by their names; drop nulls and parse a list that came as JSON text."""
    known = tool.spec.parameters["properties"]
    found = {name: value for name, value in _renamed(known, fields).items() if value is not None}
    for name, value in found.items():
        if known[name].get("type") == "array":
            found[name] = [_edit(item) for item in _listed(value)]
    return found


def _renamed(known: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    named = {name: value for name, value in fields.items() if name in known}
    for name in known:
        if name not in named:
            alias = next((other for other in _ALIASES.get(name, ()) if other in fields and other not in known), None)
            if alias is not None:
                named[name] = fields[alias]
    return named


def _listed(value: object) -> list[object]:
    if isinstance(value, str) and value.lstrip().startswith("["):
        with contextlib.suppress(ValueError):
            value = json.loads(value, strict=False) if double_key(value) is None else value
    return cast("list[object]", value) if isinstance(value, list) else [value]


def _edit(item: object) -> object:
    if not isinstance(item, dict):
        return item
    fields = cast("dict[str, Any]", item)
    return fields | _renamed({"old_text": {}, "new_text": {}}, fields)


def _readable(wrong: msgspec.ValidationError) -> str:
    r"""Rewrite ``Expected `int`, got `str` - at `$.start_line` `` as ``start_line: expected `int`, got `str` ``."""
    text, _, place = str(wrong).partition(" - at ")
    place = place.strip("`").removeprefix("$").removeprefix(".")
    text = text.replace("Object missing required field", "missing").replace("Expected", "expected")
    return f"{place}: {text}" if place else text
