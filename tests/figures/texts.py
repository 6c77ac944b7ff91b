"""List the texts that appear on the screen, for review: those of the screen, and the errors of the core.

    cd tests && python -m figures.texts              # all: path, line, text
    cd tests && python -m figures.texts tui/board    # below one folder

The values inside an f-string are written as `{...}`. Names (without a space, in lower case), style sheets, queries
and patterns are left out.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

from .prose import strings
from .source import ROOT, Place, Source, code_of, read_tree

WORD = re.compile(r"[A-Za-z]{2}")
STYLE = re.compile(r"[{;]\s*$|^\s*[a-z-]+:\s.*;|\{.*: .*;|\$[a-z]", re.MULTILINE)
CODE = re.compile(r"\(\?|\\[bdsw]|\[\^|^(?:SELECT|INSERT|UPDATE|DELETE|PRAGMA) ")
ERROR = re.compile(r"(?:Error|Refused|Refusal|Unwritable|Unreachable|Journal|Held)$")


def screen_texts(code: list[Source]) -> list[Place]:
    """Return the texts in `tui`, the help of its commands included, and the messages of errors raised in `agent`."""
    found: set[Place] = set()
    for source in code:
        nodes = [source.tree] if source.path.startswith("tui/") else list(_errors(source.tree))
        for line, text in (pair for node in nodes for pair in strings(node)):
            if is_shown(text):
                found.add(Place(source.path, line, " ".join(text.split())))
    return sorted(found, key=lambda place: (place.path, place.line, place.what))


def is_shown(text: str) -> bool:
    """Report whether a string can be read as words: it has a space, or starts with a capital letter."""
    if not WORD.search(text) or STYLE.search(text) or CODE.search(text):
        return False
    return " " in text.strip() or (text[:1].isupper() and not text.isupper() and "_" not in text)


def _errors(tree: ast.Module) -> Iterator[ast.AST]:
    """Return what is raised, and each call that makes an error or returns one as text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            yield node.exc
        elif isinstance(node, ast.Call) and ERROR.search(ast.unparse(node.func)):
            yield node


def main() -> int:
    """Run the command."""
    under = sys.argv[1] if len(sys.argv) > 1 else ""
    print(*(place for place in screen_texts(code_of(read_tree(ROOT))) if place.path.startswith(under)), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
