"""The commands in a line of bash, as words that are known before it runs (tree-sitter-bash)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser

_CONTROL = re.compile(r"[^\S\n\t ]|[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffd]")
"""The grammar's scanner was seen to crash on what no script holds."""
UNKNOWN = "\0"
"""Stands in a word for a part that only the run knows: `$name`, `$(...)`."""


class Simple(msgspec.Struct, frozen=True):
    """One simple command, wherever it stands: in a list, a pipeline, a loop, a substitution."""

    words: list[str]
    """Name and arguments, without quotes and without assignments before the name."""


def simple_commands(line: str) -> Iterator[Simple]:
    """All simple commands of a command line or script, in the order in which they stand. Never raises."""
    if "\0" in line:
        return  # a program, not a script
    line = _CONTROL.sub(" ", line)
    tree = _parser().parse(line.encode("utf-8", "replace"))
    yield from _walk(tree.root_node)


def _walk(node: Node) -> Iterator[Simple]:
    if node.type == "command":
        words = [_text(child) for child in node.named_children if child.type not in ("variable_assignment", "comment")]
        if words:
            yield Simple(words)
    for child in node.named_children:
        yield from _walk(child)


def _text(node: Node) -> str:
    """The word's value; parts that the run decides become UNKNOWN. `$PWD` is where the command runs: a dot."""
    raw = (node.text or b"").decode("utf-8", "replace")
    match node.type:
        case "word" | "number":
            return raw.replace("\\\n", "").replace("\\", "")
        case "raw_string":
            return raw[1:-1]
        case "string_content":
            return raw
        case "simple_expansion" | "expansion":
            return "." if raw in ("$PWD", "${PWD}") else UNKNOWN
        case "command_name" | "string" | "concatenation":
            return "".join(_text(child) for child in node.named_children)
        case _:
            return UNKNOWN


@cache
def _language() -> Language:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


def _parser() -> Parser:
    """A new one each time: the scanner behind it keeps what a broken line left, and was seen to crash on it."""
    from tree_sitter import Parser

    return Parser(_language())
