"""The commands in a line of bash, as words that are known before it runs (tree-sitter-bash)."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser

    from ..gate.shell import Apart

_LONGEST = 1.0
"""Seconds of processor time for one text."""
_CONTROL = re.compile(r"[^\S\n\t ]|[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffd]")
"""The grammar's scanner was seen to crash on what no script holds."""
UNKNOWN = "\0"
"""Stands in a word for a part that only the run knows: `$name`, `$(...)`."""


class Simple(msgspec.Struct, frozen=True):
    """One simple command, wherever it stands: in a list, a pipeline, a loop, a substitution."""

    words: list[str]
    """Name and arguments, without quotes and without assignments before the name."""
    given: list[str] = []
    """These assignments, as `NAME=value`."""


def simple_commands(line: str) -> list[Simple]:
    """All simple commands of a command line or script, in the order in which they stand. Never raises.

    None where the grammar crashes on it or crawls: it is read in a process of its own.
    """
    from ..gate.shell import Unreadable

    if "\0" in line:
        return []  # a program, not a script
    try:
        return msgspec.msgpack.decode(_reader().ask(line), type=list[Simple])
    except Unreadable:
        return []


@cache
def _reader() -> Apart:
    from ..gate.shell import Apart

    return Apart(__file__)


def _serve() -> None:
    """The other side, as `gate.grammar.serve`."""
    while head := sys.stdin.buffer.read(4):
        line = sys.stdin.buffer.read(int.from_bytes(head, "big")).decode("utf-8", "surrogatepass")
        signal.setitimer(signal.ITIMER_PROF, _LONGEST)
        tree = _parser().parse(_CONTROL.sub(" ", line).encode("utf-8", "replace"))
        answer = msgspec.msgpack.encode(list(_walk(tree.root_node)))
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.buffer.write(len(answer).to_bytes(4, "big") + answer)
        sys.stdout.buffer.flush()


def _walk(node: Node) -> Iterator[Simple]:
    if node.type == "command":
        words = [_text(child) for child in node.named_children if child.type not in ("variable_assignment", "comment")]
        given = [_assigned(child) for child in node.named_children if child.type == "variable_assignment"]
        if words:
            yield Simple(words, given)
    for child in node.named_children:
        yield from _walk(child)


def _assigned(node: Node) -> str:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    return f"{_text(name) if name else ''}={_text(value) if value else ''}"


def _text(node: Node) -> str:
    """The word's value; parts that the run decides become UNKNOWN. `$PWD` is where the command runs: a dot."""
    raw = (node.text or b"").decode("utf-8", "replace")
    match node.type:
        case "word" | "number" | "variable_name":
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


if __name__ == "__main__":
    _serve()
