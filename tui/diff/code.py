"""Source code into coloured runs, by pygments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from ..lines import Run, marked
from ..theme import Palette

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType  # pyright: ignore[reportPrivateUsage]

Piece = tuple[str, str]
"""A stretch of code and the field of `Palette` that paints it: the same for every theme."""

LONGEST = 1_000_000
"""Characters; a longer text, or one with a line of more than `WIDEST`, is not highlighted: lexers get slow."""
WIDEST = 5_000


def lexer_for(path: str) -> Lexer | None:
    """By the file's name alone: guessing from content takes Python for Scdoc."""
    from pygments.lexers import get_lexer_for_filename  # pyright: ignore[reportUnknownVariableType]
    from pygments.util import ClassNotFound

    try:
        return get_lexer_for_filename(path, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def lexer_named(language: str) -> Lexer | None:
    """By the word behind a fence, `python` or `py`."""
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]
    from pygments.util import ClassNotFound

    if not language:
        return None
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def lex(lines: Sequence[str], lexer: Lexer | None, wanted: Callable[[], bool] = lambda: True) -> list[list[Piece]]:
    """Each shown line in its pieces; the whole is lexed once, so a text over several lines is one.

    A second for 5,000 lines: for a thread, which stops soon after `wanted` says no.
    """
    text = "\n".join(lines)
    if lexer is None or len(text) > LONGEST or max(map(len, lines), default=0) > WIDEST:
        return [[(line, "code")] for line in lines]
    found: list[list[Piece]] = [[]]
    for count, (token, value) in enumerate(lexer.get_tokens(text)):
        if count % 50 == 49 and not wanted():
            break
        slot = _slot(token)
        first, *more = value.split("\n")
        if first:
            found[-1].append((first, slot))
        for part in more:
            found.append([(part, slot)] if part else [])
    if len(found) < len(lines) or any(
        "".join(part for part, _ in pieces) != line for pieces, line in zip(found, lines, strict=False)
    ):
        return [[(line, "code")] for line in lines]
    return found[: len(lines)]


def painted(pieces: Sequence[Piece], palette: Palette) -> list[Run]:
    """The pieces of a line in the theme's styles, marks included."""
    runs: list[Run] = []
    for text, slot in pieces:
        runs.extend(marked(text, getattr(palette, slot), palette.mark))
    return runs


_SLOTS = (
    ("Token.Comment", "code_comment"),
    ("Token.Literal.String.Doc", "code_comment"),
    ("Token.Literal.String", "code_string"),
    ("Token.Literal.Number", "code_number"),
    ("Token.Keyword.Type", "code_type"),
    ("Token.Keyword.Constant", "code_number"),
    ("Token.Keyword", "code_keyword"),
    ("Token.Operator.Word", "code_keyword"),
    ("Token.Operator", "code_operator"),
    ("Token.Punctuation", "code_operator"),
    ("Token.Name.Function", "code_name"),
    ("Token.Name.Class", "code_type"),
    ("Token.Name.Exception", "code_type"),
    ("Token.Name.Decorator", "code_name"),
    ("Token.Name.Tag", "code_keyword"),
    ("Token.Name.Attribute", "code_name"),
    ("Token.Name.Builtin", "code_type"),
    ("Token.Generic.Heading", "heading"),
    ("Token.Generic.Subheading", "heading"),
)


@cache
def _slot(token: _TokenType) -> str:
    name = str(token)
    for prefix, slot in _SLOTS:
        if name.startswith(prefix):
            return slot
    return "code"
