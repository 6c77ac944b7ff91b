"""Ask for one part of a file after the other: a statement, or a line, which the model writes again.

A small model that repeats a function unchanged often repairs the statement when it is asked for that alone, and the
answer costs a fifth (docs/decisions/0038).
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from .excerpt import Lines, points_of_definitions
from .merging import DEFINITIONS, docstring, parsed
from .reading import FENCE, THOUGHT, Reading, ShownFile, judged, read_answer

MOST_PARTS = 24
_LEFT_OUT = (*DEFINITIONS, ast.Import, ast.ImportFrom, ast.Pass, ast.Try)
_WORDS = re.compile(r"\w\W*\w\W*\w")
_COMMENTS = ("#", "//", "--", "/*", "*", "<!--", ";", "%")


def parts_of(path: str, text: str, output: str, tests: str) -> list[Lines]:
    """Return the parts of a file that a model is asked for, at most `MOST_PARTS`.

    In Python the statements of the definitions that the output of the check or the tests name, without the bodies of
    compound ones; elsewhere lines. Those that the output names come first, then the others in their order.
    """
    lines = text.split("\n")
    named = [int(one) - 1 for one in re.findall(rf"{re.escape(Path(path).name)}\D{{1,12}}(\d+)", output)]
    tree = parsed(text) if path.endswith((".py", ".pyi")) else None
    if tree is None:
        found = [(at, at) for at, line in enumerate(lines) if _is_code(line)]
        middle = named[-1] if named else 0
        found = sorted(found, key=lambda part: abs(part[0] - middle))[:MOST_PARTS]
        return sorted(found, key=lambda part: (part[0] not in named, part[0]))
    points = points_of_definitions(tree, named, output, tests)
    ranked = [node for node, _ in sorted(points, key=lambda one: -one[1])] or [tree]
    found = list(dict.fromkeys(part for node in ranked for part in _statements(node)))
    in_output = [part for part in found if any(part[0] <= line <= part[1] for line in named)]
    return [*in_output, *(part for part in found if part not in in_output)][:MOST_PARTS]


def text_of(shown: ShownFile, part: Lines) -> str:
    """Return the lines of a part."""
    return "\n".join(shown.text.split("\n")[part[0] : part[1] + 1])


def read_part(said: str, shown: ShownFile, part: Lines) -> Reading:
    """Read an answer as the new text of a part. It gets the indentation of the part; a definition replaces its own."""
    said = THOUGHT.sub("", said).replace("\r\n", "\n")
    fences = [match[3] for match in FENCE.finditer(said) if match[3].strip()]
    code = textwrap.dedent(fences[0] if fences else said).strip("\n").split("\n")
    if not "".join(code).strip():
        return Reading(None, "It contains no code in the form that was asked for.")
    if any(re.match(r"\s*(async def|def|class) ", line) for line in code):
        return read_answer("functions", said, shown)
    lines = shown.text.split("\n")
    first, last = part
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    new = [f"{indent}{line}".rstrip() for line in code]
    new = _without_neighbours(new, lines[:first], lines[last + 1 :])
    return judged(Reading("\n".join([*lines[:first], *new, *lines[last + 1 :]])), shown)


def part_is_complete(said: str) -> bool:
    """Return whether the answer so far has a block with its end."""
    return said.rstrip().endswith("```") and any(match[3].strip() for match in FENCE.finditer(said))


def _without_neighbours(new: list[str], before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Leave out lines around the part that the answer repeats."""
    for count in range(min(len(new) - 1, len(after)), 0, -1):
        if new[-count:] == [line.rstrip() for line in after[:count]]:
            new = new[:-count]
            break
    for count in range(min(len(new) - 1, len(before)), 0, -1):
        if new[:count] == [line.rstrip() for line in before[-count:]]:
            return new[count:]
    return new


def _statements(node: ast.AST) -> Iterator[Lines]:
    """Yield the lines of the statements below a definition; of a compound one, its first lines alone."""
    doc = docstring(node) if isinstance(node, (*DEFINITIONS, ast.Module)) else None
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt) and not isinstance(child, _LEFT_OUT) and child is not doc:
            body = next((one for one in getattr(child, "body", [])), None)
            last = child.end_lineno if body is None else max(child.lineno, body.lineno - 1)
            yield child.lineno - 1, (last or child.lineno) - 1
        if not isinstance(child, ast.expr):
            yield from _statements(child)


def _is_code(line: str) -> bool:
    return _WORDS.search(line) is not None and not line.strip().startswith(_COMMENTS)
