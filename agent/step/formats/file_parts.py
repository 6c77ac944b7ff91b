"""Ask the model for one part of a file after the other: a statement or a line, which it writes again.

A small model that repeats a function unchanged often repairs the statement when it is asked for that alone, and the
answer costs a fifth (docs/decisions/0038).
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence

from .file_excerpt import Lines, named_lines, points_of_definitions
from .merge_definitions import DEFINITIONS, docstring, parsed
from .read_answer import BLOCK, FENCE, HUNK, THOUGHT, Reading, ShownFile, is_closed, judged, read_answer

MOST_PARTS = 24
_LEFT_OUT = (*DEFINITIONS, ast.Import, ast.ImportFrom, ast.Pass, ast.Try, ast.TryStar)
_DEFINES = re.compile(r"\s*(async def|def|class) ")
_WORDS = re.compile(r"\w\W*\w\W*\w")
_COMMENTS = ("#", "//", "--", "/*", "*", "<!--", ";", "%")


def parts_of(path: str, text: str, output: str, tests: str) -> list[Lines]:
    """Return the parts of a file that a model is asked for, at most `MOST_PARTS`.

    In Python, parts are the statements of definitions that the output of the check or the tests name, without the
    bodies of compound ones. In other languages, parts are lines. Those that the output names come first, then the
    others in their order.
    """
    named = named_lines(path, output)
    tree = parsed(text) if path.endswith((".py", ".pyi")) else None
    if tree is None:
        found = [(at, at) for at, line in enumerate(text.split("\n")) if _is_code(line)]
        middle = named[-1] if named else 0
        found = sorted(found, key=lambda part: abs(part[0] - middle))[:MOST_PARTS]
        return sorted(found, key=lambda part: (part[0] not in named, part[0]))
    points = points_of_definitions(tree, named, output, tests)
    ranked = [node for node, _ in sorted(points, key=lambda one: -one[1])] or [tree]
    lines = text.split("\n")
    in_output = [part for part in _statements(tree, lines) if any(part[0] <= line <= part[1] for line in named)]
    found = [part for node in ranked for part in _statements(node, lines)]
    return list(dict.fromkeys((*in_output, *found)))[:MOST_PARTS]


def text_of(shown: ShownFile, part: Lines) -> str:
    """Return the lines of a part."""
    return "\n".join(shown.text.split("\n")[part[0] : part[1] + 1])


def read_part(said: str, shown: ShownFile, part: Lines) -> Reading:
    """Read an answer as the new text of a part.

    The text gets the indentation of the part. A whole definition replaces its own, and the head of a compound statement
    with another body the body, too. Without a block only valid Python is read.
    """
    said = THOUGHT.sub("", said).replace("\r\n", "\n")
    if BLOCK.search(said) or HUNK.search(said):
        return read_answer("blocks", said, shown)
    fences = [match for match in FENCE.finditer(said) if match[3].strip()]
    if fences and not is_closed(fences[0]):
        return Reading(None, "It was cut off before the end of its block.")
    given = textwrap.dedent(fences[0][3] if fences else said).strip("\n")
    if not given.strip() or (not fences and not shown.is_python):
        return Reading(None, "It contains no code in the form that was asked for.")
    code = given.split("\n")
    if shown.is_python and any(map(_DEFINES.match, code)):
        return read_answer("functions", said, shown)
    lines, (first, last) = shown.text.split("\n"), part
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    new = [f"{indent}{line}" if line.strip() else "" for line in code]
    new = _without_neighbours(new, lines[:first], lines[last + 1 :])
    if shown.is_python and len(new) > 1 and _is_head(new[0]):
        last = _end_of_body(shown.text, first, last)
    return judged(Reading("\n".join([*lines[:first], *new, *lines[last + 1 :]])), shown)


def part_is_complete(said: str, shown: ShownFile, part: Lines) -> bool:
    """Return whether the answer so far has a block with its end, to which nothing has to be added."""
    if not said.rstrip().endswith("```"):
        return False
    reading = read_part(said, shown, part)
    return reading.text is not None or reading.is_same


def _without_neighbours(new: list[str], before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Leave out lines around the part that the answer repeats."""
    for count in range(min(len(new) - 1, len(after)), 0, -1):
        if new[-count:] == [*after[:count]]:
            new = new[:-count]
            break
    for count in range(min(len(new) - 1, len(before)), 0, -1):
        if new[:count] == [*before[-count:]]:
            return new[count:]
    return new


def _is_head(line: str) -> bool:
    return line.rstrip().endswith(":")


def _end_of_body(text: str, first: int, last: int) -> int:
    """Return the last line of the body of the compound statement that begins in a line; else the end of the part."""
    tree = parsed(text)
    for node in () if tree is None else ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno - 1 == first:
            body: list[ast.stmt] = getattr(node, "body", [])
            return max((one.end_lineno or 0 for one in body), default=last + 1) - 1
    return last


def _statements(node: ast.AST, lines: Sequence[str]) -> Iterator[Lines]:
    """Yield the lines of the statements below a definition; of a compound one, its head alone.

    A statement with a text of several lines is left out, because its indentation would change the text.
    """
    doc = docstring(node) if isinstance(node, (*DEFINITIONS, ast.Module)) else None
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt) and not isinstance(child, _LEFT_OUT) and child is not doc:
            last = _last_line(child, lines)
            if not any(_is_long_text(inner, last) for inner in ast.walk(child)):
                yield child.lineno - 1, last - 1
        if not isinstance(child, ast.expr):
            yield from _statements(child, lines)


def _last_line(node: ast.stmt, lines: Sequence[str]) -> int:
    """Return the last line (from 1) of a statement, or of the head of a compound one: the line with its colon."""
    inner = getattr(node, "body", None) or getattr(node, "cases", None)
    if not inner:
        return node.end_lineno or node.lineno
    inside = inner[0].pattern if isinstance(inner[0], ast.match_case) else inner[0]
    heads = [one for one in ast.iter_child_nodes(node) if isinstance(one, (ast.expr, ast.withitem))]
    ends = [part.end_lineno or 0 for head in heads for part in ast.walk(head) if isinstance(part, ast.expr)]
    before = range(max(ends, default=node.lineno), inside.lineno)
    return next((at for at in before if _is_head(lines[at - 1].partition("#")[0])), inside.lineno)


def _is_long_text(node: ast.AST, last: int) -> bool:
    if not isinstance(node, (ast.JoinedStr, ast.Constant)) or node.lineno > last or node.lineno == node.end_lineno:
        return False
    return isinstance(node, ast.JoinedStr) or isinstance(node.value, str | bytes)


def _is_code(line: str) -> bool:
    return _WORDS.search(line) is not None and not line.strip().startswith(_COMMENTS)
