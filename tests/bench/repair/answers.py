"""Read the answer of a model as the new text of one file, for each way of asking. Does no I/O."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from typing import Literal

Format = Literal["whole", "functions", "blocks", "tools", "constrained"]
FORMATS: tuple[Format, ...] = ("whole", "functions", "blocks", "tools", "constrained")

SCHEMA = {
    "type": "object",
    "properties": {
        "cause": {"type": "string"},
        "old_text": {"type": "string"},
        "new_text": {"type": "string"},
    },
    "required": ["cause", "old_text", "new_text"],
    "additionalProperties": False,
}
"""Of a constrained answer: the cause first, so that the model thinks before it writes the edit."""

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": text,
            "parameters": {
                "type": "object",
                "properties": {field: {"type": "string"} for field in fields},
                "required": fields,
            },
        },
    }
    for name, text, fields in (
        ("edit_file", "Replace old_text, which must occur once, by new_text.", ["path", "old_text", "new_text"]),
        ("write_file", "Replace the whole content of a file.", ["path", "content"]),
    )
]

_FENCE = re.compile(r"^[ \t]*```[\w+-]*[^\n]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
_BLOCK = re.compile(r"<{5,9} ?SEARCH\n(.*?)\n?={5,9}\n(.*?)\n?>{5,9} ?REPLACE", re.DOTALL)
_TAGGED = re.compile(r"<(tools?|tool_calls?|function_call)>\s*(.*?)\s*(?:</\1>|\Z)", re.DOTALL)
_FUNCTION_TAG = re.compile(r"<function\s+name=\"(\w+)\"\s+arguments='(.*?)'\s*/?>", re.DOTALL)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Answer:
    """What an answer gives: a new text, or the reason why it gives none."""

    text: str | None
    why: str = ""


def read_answer(form: Format, said: str, calls: list[tuple[str, str]], original: str) -> Answer:
    """Return the new text of the file. `calls`: name and arguments (JSON) of the calls that the server recognised."""
    match form:
        case "whole":
            found = _whole(said, original)
        case "functions":
            found = _merged(said, original)
        case "blocks":
            found = _replaced([(old, new) for old, new in _BLOCK.findall(said)], original)
        case "tools":
            found = _called([*calls, *written_calls(said)], original)
        case "constrained":
            found = _constrained(said, original)
    if found.text is None:
        return found
    if found.text == original:
        return Answer(None, "unchanged")
    try:
        ast.parse(found.text)
    except SyntaxError as error:
        return Answer(None, f"not Python: {error.msg}")
    return found


def digest(text: str) -> str:
    """Return a text that is equal for programs that differ only in comments, layout and docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (*_DEFINITIONS, ast.Module)) and _docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


def written_calls(said: str) -> list[tuple[str, str]]:
    """Return calls that the model wrote as text: in `<tools>` tags, one JSON object a line, or as `<function .../>`."""
    found = _FUNCTION_TAG.findall(said)
    for _, inner in _TAGGED.findall(said):
        for piece in (inner, *inner.splitlines()):
            try:
                call = json.loads(piece)
            except ValueError:
                continue
            if isinstance(call, dict) and isinstance(call.get("name"), str):
                found.append((call["name"], json.dumps(call.get("arguments", call.get("parameters", {})))))
                if piece is inner:
                    break
    return found


def _fences(said: str) -> list[str]:
    return [text for text in _FENCE.findall(said) if text.strip()]


def _whole(said: str, original: str) -> Answer:
    fences = _fences(said)
    if not fences:
        return Answer(None, "no fence")
    text = max(fences, key=len)
    if re.search(r"^\s*(#|//)?\s*\.\.\.\s*(rest|existing|remain|unchanged)?", text, re.MULTILINE | re.IGNORECASE):
        return Answer(None, "elided")
    merged = merge(text, original)
    return Answer(merged) if merged is not None else Answer(text)


def _merged(said: str, original: str) -> Answer:
    fences = _fences(said)
    if not fences:
        return Answer(None, "no fence")
    text = original
    for fence in fences:
        merged = merge(fence, text)
        if merged is None:
            return Answer(None, "not Python, or no known definition")
        text = merged
    return Answer(text)


def merge(new: str, original: str) -> str | None:
    """Put the definitions of `new` in the place of those of the same name, and keep all else of `original`.

    A docstring that `new` leaves out is kept. None: one of the texts is not Python, or no definition has that name.
    """
    try:
        new_tree, old_tree = ast.parse(new), ast.parse(original)
    except SyntaxError:
        return None
    places = {node.name: node for node in old_tree.body if isinstance(node, _DEFINITIONS)}
    wanted = [node for node in new_tree.body if isinstance(node, _DEFINITIONS) and node.name in places]
    lines, new_lines = original.splitlines(keepends=True), new.splitlines(keepends=True)
    for node in sorted(wanted, key=lambda node: places[node.name].lineno, reverse=True):
        old = places[node.name]
        piece = new_lines[_first_line(node) - 1 : node.end_lineno]
        if piece and not piece[-1].endswith("\n"):
            piece[-1] += "\n"
        doc = _docstring(old)
        if doc is not None and _docstring(node) is None:
            at = node.body[0].lineno - _first_line(node)
            piece[at:at] = lines[doc.lineno - 1 : doc.end_lineno]
        lines[_first_line(old) - 1 : old.end_lineno] = piece
    return "".join(lines) if wanted else None


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def _docstring(node: ast.AST) -> ast.stmt | None:
    body = getattr(node, "body", None)
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        return body[0] if isinstance(body[0].value.value, str) else None
    return None


def _replaced(edits: list[tuple[str, str]], original: str) -> Answer:
    text = original
    if not edits:
        return Answer(None, "no edit")
    for old, new in edits:
        if not old.strip() or text.count(old) != 1:
            return Answer(None, f"the old text occurs {text.count(old) if old.strip() else 0} times")
        text = text.replace(old, new)
    return Answer(text)


def _called(calls: list[tuple[str, str]], original: str) -> Answer:
    text, count = original, 0
    for name, raw in calls:
        try:
            given = json.loads(raw)
        except ValueError:
            return Answer(None, "arguments are not JSON")
        if not isinstance(given, dict):
            return Answer(None, "arguments are not an object")
        if name == "write_file" and isinstance(given.get("content"), str):
            text, count = given["content"], count + 1
        elif name == "edit_file":
            found = _replaced([(str(given.get("old_text", "")), str(given.get("new_text", "")))], text)
            if found.text is None:
                return found
            text, count = found.text, count + 1
    return Answer(text) if count else Answer(None, "no call")


def _constrained(said: str, original: str) -> Answer:
    try:
        given = json.loads(said)
        return _replaced([(str(given["old_text"]), str(given["new_text"]))], original)
    except (ValueError, KeyError, TypeError):
        return Answer(None, "not the JSON that was asked for")
