"""Draw the Markdown of a model without losing any of its text.

HTML, entities and the markup of pictures are shown as written. A link is shown with its whole address next to its
words, and cannot be clicked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from rich.style import Style

from ..diff.code_runs import lex, lexer_named, painted
from ..lines.draw_runs import Run, fold, marked
from ..text.show_text import show
from .markdown_table import Align, Table

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

    from ..theme.theme import Palette

Rows = list[list[Run]]
MEASURE = 100
"""Maximum width of a line of prose in cells: longer lines are hard to read."""
_PLAIN_LINE = r"(?:[A-Za-z(\"'][A-Za-z0-9 ,.;:!?()\"'/-]*)?"
_PLAIN = re.compile(rf"{_PLAIN_LINE}(?:\n{_PLAIN_LINE})*")
_INDENT = 2
_CODE = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
_STRONG = re.compile(r"\*\*(?=\S)")
_OPEN_LINK = re.compile(r"\[[^\[\]\n]*(?:\](?:\([^()\n]*)?)?$")
_ROW = re.compile(r" {0,3}\|")
_DELIMITER = re.compile(r" {0,3}\|?[ :|-]*-[ :|-]*$")


def draw_markdown(source: str, width: int, palette: Palette, *, grows: bool = False) -> Rows:
    """Return the rows of a text, each at most `width` cells. `grows`: more of it will follow."""
    shown = show(_settled(source) if grows else source)
    if _PLAIN.fullmatch(shown):  # most short answers are plain, and this is ten times faster
        return [row for line in shown.split("\n") for row in fold([(line.strip(), Style.null())], min(width, MEASURE))]
    from markdown_it.tree import SyntaxTreeNode

    return _Drawer(palette).blocks(SyntaxTreeNode(_parser().parse(shown)).children, width)


def draw_code(lines: Sequence[str], language: str, width: int, palette: Palette) -> Rows:
    """Return the rows of raw code, wrapped anywhere and indented by two."""
    pieces = lex([show(line) for line in lines], lexer_named(language))
    rows: Rows = []
    for line in pieces:
        rows.extend(fold(painted(line, palette), width - _INDENT, words=False))
    return [[(" " * _INDENT, Style.null()), *row] for row in rows]


def prepare() -> None:
    """Import what the first drawing needs, in a thread. It takes 0.15 s, for which a key would have to wait."""
    list(lex(["x = 1"], lexer_named("python")))
    _parser().parse("- x")


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    # an entity can spell an escape character, a reference hides its address, a picture its name
    return parser.disable(["entity", "image", "reference", "lheading", "html_block", "html_inline"])


class _Drawer:
    def __init__(self, palette: Palette) -> None:
        self.palette = palette
        self.base = Style.null()

    def blocks(self, nodes: Sequence[SyntaxTreeNode], width: int, *, tight: bool = False) -> Rows:
        rows: Rows = []
        for index, node in enumerate(nodes):
            if index and not tight:
                rows.append([])
            rows.extend(self.block(node, max(8, width)))
        return rows

    def block(self, node: SyntaxTreeNode, width: int) -> Rows:
        match node.type:
            case "paragraph":
                return self.prose(node, width, self.base)
            case "heading":
                return self.prose(node, width, self.palette.heading)
            case "bullet_list" | "ordered_list":
                return self.listing(node, width)
            case "blockquote":
                return self.quote(node, width)
            case "fence" | "code_block":
                return draw_code(node.content.rstrip("\n").split("\n"), node.info.split(" ")[0], width, self.palette)
            case "hr":
                return [[("─" * min(width, MEASURE), self.palette.rule)]]
            case "table":
                return self.table(node, width)
            case _:
                return self.plain(node, width)

    def prose(self, node: SyntaxTreeNode, width: int, style: Style) -> Rows:
        rows: Rows = []
        for line in self.inline(node.children, style):
            rows.extend(fold(line, min(width, MEASURE)))
        return rows

    def plain(self, node: SyntaxTreeNode, width: int) -> Rows:
        rows: Rows = []
        for line in show(node.content).split("\n"):
            rows.extend(fold(marked(line, self.base, self.palette.mark), width))
        return rows

    def listing(self, node: SyntaxTreeNode, width: int) -> Rows:
        ordered = node.type == "ordered_list"
        first = int(node.attrs.get("start", 1)) if ordered else 0
        size = len(str(first + len(node.children) - 1)) + 2 if ordered else 2
        loose = not _is_tight(node)
        rows: Rows = []
        for index, item in enumerate(node.children):
            sign = f"{first + index}.".rjust(size - 1) + " " if ordered else "• "
            if index and loose:
                rows.append([])
            inner = self.blocks(item.children, width - size, tight=not loose) or [[]]
            for at, row in enumerate(inner):
                rows.append([(sign, self.palette.dim) if at == 0 else (" " * size, self.base), *row])
        return rows

    def quote(self, node: SyntaxTreeNode, width: int) -> Rows:
        outer, self.base = self.base, self.palette.dim
        rows = self.blocks(node.children, width - 2)
        self.base = outer
        return [[("│ ", self.palette.faint), *row] for row in rows]

    def table(self, node: SyntaxTreeNode, width: int) -> Rows:
        lines = [line for section in node.children for line in section.children]
        if not lines or not lines[0].children:
            return self.plain(node, width)
        aligns: list[Align] = [_align(cell) for cell in lines[0].children]
        return Table([[self.cell(cell) for cell in line.children] for line in lines], aligns).draw(width, self.palette)

    def cell(self, node: SyntaxTreeNode) -> list[Run]:
        style = self.palette.heading if node.type == "th" else self.base
        lines = self.inline(node.children, style)
        return [run for line in lines for run in line]

    def inline(self, nodes: Sequence[SyntaxTreeNode], style: Style) -> Rows:
        lines: Rows = [[]]
        self.spans(nodes, style, lines)
        return lines

    def spans(self, nodes: Sequence[SyntaxTreeNode], style: Style, lines: Rows) -> None:
        for node in nodes:
            match node.type:
                case "inline":
                    self.spans(node.children, style, lines)
                case "softbreak" | "hardbreak":
                    lines.append([])
                case "strong":
                    self.spans(node.children, style + Style(bold=True), lines)
                case "em":
                    self.spans(node.children, style + Style(italic=True), lines)
                case "s":
                    self.spans(node.children, style + Style(strike=True), lines)
                case "code_inline":
                    self.put(node.content, style + self.palette.inline_code, lines)
                case "link":
                    self.link(node, style, lines)
                case _:
                    self.put(node.content, style, lines)

    def link(self, node: SyntaxTreeNode, style: Style, lines: Rows) -> None:
        start, line = len(lines[-1]), len(lines)
        self.spans(node.children, style + self.palette.link, lines)
        address = show(str(node.attrs.get("href", "")))
        words = "".join(text for text, _ in lines[-1][start:]) if len(lines) == line else ""
        if words != address:
            self.put(f" ({address})", style + self.palette.dim, lines)
        title = node.attrs.get("title")
        if title:
            self.put(f' "{title}"', style + self.palette.dim, lines)

    def put(self, text: str, style: Style, lines: Rows) -> None:
        first, *more = show(text).split("\n")
        lines[-1].extend(marked(first, style, self.palette.mark))
        for part in more:
            lines.append(marked(part, style, self.palette.mark))


def _align(cell: SyntaxTreeNode) -> Align:
    style = str(cell.attrs.get("style", ""))
    return "right" if style.endswith("right") else "center" if style.endswith("center") else "left"


def _is_tight(node: SyntaxTreeNode) -> bool:
    return all(child.hidden for item in node.children for child in item.children if child.type == "paragraph")


def _settled(source: str) -> str:
    """Return the part of a growing text that can be drawn now, with its open emphasis and code closed.

    A line of a table, and a link, are drawn once they are complete.
    """
    source = _without_open_row(source)
    head, blank, last = source.rpartition("\n\n")
    return head + blank + _closed(last)


def _without_open_row(source: str) -> str:
    """Leave out the last line if it is a growing line of a table, and a header whose second line did not come yet."""
    lines = source.split("\n")
    is_below_row = len(lines) > 1 and _ROW.match(lines[-2]) is not None
    if _ROW.match(lines[-1]) or (is_below_row and not lines[-1].strip("| :-")):
        lines.pop()
    if lines and _ROW.match(lines[-1]) and not (len(lines) > 1 and _in_table(lines)):
        lines.pop()
    return "\n".join(lines)


def _in_table(lines: list[str]) -> bool:
    """Return whether the last line belongs to a table whose second line is known."""
    at = len(lines) - 1
    while at >= 0 and _ROW.match(lines[at]):
        at -= 1
    return len(lines) - at > 2 and _DELIMITER.match(lines[at + 2]) is not None


def _closed(text: str) -> str:
    plain = _CODE.sub(lambda found: "x" * len(found.group()), text)
    opened = plain.find("`")
    if opened >= 0:
        ticks = len(plain[opened:]) - len(plain[opened:].lstrip("`"))
        return text.rstrip("`") if opened + ticks == len(text) else text.rstrip() + "`" * ticks
    link = _OPEN_LINK.search(plain)
    if link is not None and link.group() not in ("[ ]", "[x]"):
        text, plain = text[: link.start()], plain[: link.start()]
    if plain.count("**") % 2:
        text = text.rstrip()
        return text.removesuffix("*").removesuffix("*") if text.endswith("*") else text + "**"
    return text
