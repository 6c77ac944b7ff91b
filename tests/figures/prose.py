"""The texts of the project that people read: docstrings, comments, strings, names of tests, and pages."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .docstrings import docstrings, is_public
from .source import Source, code_of

PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/*.md", "docs/*/*.md")


@dataclass(frozen=True)
class Text:
    """A text with its place. `kind` is docstring, public docstring, comment, string, test or page."""

    path: str
    line: int
    kind: str
    text: str


def all_texts(root: Path, sources: list[Source]) -> Iterator[Text]:
    """Return each text of the tree."""
    code = {source.path for source in code_of(sources)}
    for source in sources:
        yield from texts_of(source, with_strings=source.path in code)
    for path in sorted(path for pattern in PAGES for path in root.glob(pattern)):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield Text(path.relative_to(root).as_posix(), number, "page", line.lstrip("-* "))


def texts_of(source: Source, *, with_strings: bool) -> Iterator[Text]:
    """Return the texts of a Python file. Strings without a space are names, not texts."""
    for name, line, text in docstrings(source):
        kind = "public docstring" if with_strings and is_public(name) else "docstring"
        yield Text(source.path, line, kind, text)
    for line, text in _field_docs(source):
        yield Text(source.path, line, "docstring", text)
    for line, text in _comments(source.text):
        yield Text(source.path, line, "comment", text)
    if with_strings:
        yield from (Text(source.path, line, "string", text) for line, text in strings(source.tree) if " " in text)
    for name, node in source.functions:
        if node.name.startswith("test_"):
            yield Text(source.path, node.lineno, "test", name.rpartition(".")[2].replace("_", " "))


def strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Return the string literals below a node with their lines, without docstrings and `__all__`.

    The values inside an f-string are written as `{...}`.
    """
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            skipped |= {id(part) for part in ast.walk(node.value)}
        elif isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in node.values}
            parts = (part.value if isinstance(part, ast.Constant) else "{...}" for part in node.values)
            yield node.lineno, "".join(str(part) for part in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.lineno, node.value


def _field_docs(source: Source) -> Iterator[tuple[int, str]]:
    """Return the docstrings below fields and constants."""
    heads = {line for _, line, _ in docstrings(source)}
    for node in ast.walk(source.tree):
        is_text = isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)
        if is_text and node.lineno not in heads:
            yield node.lineno, node.value.value


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Return the comments; consecutive lines of one comment are one text."""
    if not re.search(r"(?m)(?:^|\s)# ", text):
        return
    first, last, lines = 0, 0, []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT or token.string.startswith(("#:", "#!")):
            continue
        if lines and token.start[0] != last + 1:
            yield first, " ".join(lines)
            lines = []
        first = token.start[0] if not lines else first
        last = token.start[0]
        lines.append(token.string.removeprefix("#").strip())
    if lines:
        yield first, " ".join(lines)
