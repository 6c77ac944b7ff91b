"""Split source code into coloured runs, with pygments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

from ..lines.draw_runs import Run, marked

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType  # pyright: ignore[reportPrivateUsage]

    from ..theme.theme import Palette

Piece = tuple[str, str]
"""A piece of code and the field of `Palette` with its style, which is the same for every theme."""

LONGEST = 1_000_000
"""Characters; longer texts, or texts with a line above `WIDEST`, are not highlighted: lexers become slow."""
WIDEST = 5_000


def lexer_for(path: str) -> Lexer | None:
    """Return the lexer for a file name. Content is not examined: guessing takes Python for Scdoc."""
    from pygments.lexers import get_lexer_for_filename  # pyright: ignore[reportUnknownVariableType]
    from pygments.util import ClassNotFound

    try:
        return get_lexer_for_filename(path, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def lexer_named(language: str) -> Lexer | None:
    """Return the lexer for the word after a code fence, such as `python` or `py`."""
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]
    from pygments.util import ClassNotFound

    if not language:
        return None
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def lex(lines: Sequence[str], lexer: Lexer | None, wanted: Callable[[], bool] = lambda: True) -> Iterator[list[Piece]]:
    """Yield the pieces of each line. All lines are lexed together, so that a string over several lines is one token.

    It takes a second for 5,000 lines: call it in a thread, which stops soon after `wanted` returns False.
    """
    text = "\n".join(lines)
    done = 0
    if lexer is not None and len(text) <= LONGEST and max(map(len, lines), default=0) <= WIDEST:
        for line, pieces in zip(lines, _lexed(text, lexer, wanted), strict=False):
            if "".join(part for part, _ in pieces) != line:
                break
            yield pieces
            done += 1
    for line in lines[done:]:
        yield [(line, "code")]


def _lexed(text: str, lexer: Lexer, wanted: Callable[[], bool]) -> Iterator[list[Piece]]:
    line: list[Piece] = []
    for count, (token, value) in enumerate(lexer.get_tokens(text)):
        if count % 50 == 49 and not wanted():
            return
        slot = _slot(token)
        first, *more = value.split("\n")
        if first:
            line.append((first, slot))
        for part in more:
            yield line
            line = [(part, slot)] if part else []
    yield line


def packed(pieces: Sequence[Piece]) -> bytes:
    """Return the colours of a line, one byte for each character.

    For 5,000 lines, pieces would be 100,000 objects for the garbage collector.
    """
    return b"".join(_CODES[slot] * len(text) for text, slot in pieces)


def unpacked(line: str, colours: bytes) -> list[Piece]:
    """Return the pieces of a line from its packed colours."""
    pieces: list[Piece] = []
    start = 0
    for code, run in groupby(colours):
        end = start + sum(1 for _ in run)
        pieces.append((line[start:end], _NAMES[code]))
        start = end
    return pieces


def painted(pieces: Sequence[Piece], palette: Palette) -> list[Run]:
    """Return the pieces of a line in the styles of the theme, with marked characters."""
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
_NAMES = sorted({slot for _, slot in _SLOTS} | {"code"})
_CODES = {name: bytes([code]) for code, name in enumerate(_NAMES)}


@cache
def _slot(token: _TokenType) -> str:
    name = str(token)
    for prefix, slot in _SLOTS:
        if name.startswith(prefix):
            return slot
    return "code"
