"""Foreign text as HTML: escaped, with a visible mark for each hidden character."""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ...text.show_text import one_line, show

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    from rundry.agent import Redactor

_HEADING = "h4"


def escaped(text: str) -> str:
    """Return the text for the content of an element or of a quoted attribute."""
    return html.escape(text, quote=True)


@dataclass(frozen=True, slots=True)
class Words:
    """Turns text of a run into HTML, with keys hidden."""

    hide: Redactor

    def line(self, text: str) -> str:
        """Return the text in one line."""
        return escaped(one_line(self.hide(text)))

    def lines(self, text: str) -> str:
        """Return the text with its line feeds."""
        return escaped(show(self.hide(text)).strip("\n"))

    def markdown(self, text: str) -> str:
        """Return Markdown as HTML. Links and pictures stay text, and headings do not join those of the page."""
        parser = _parser()
        tokens = parser.parse(show(self.hide(text)))
        for token in tokens:
            _make_plain(token)
        return parser.renderer.render(tokens, parser.options, {})


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    foreign = ["entity", "image", "link", "autolink", "reference", "lheading", "html_block", "html_inline"]
    return parser.disable(foreign)


def _make_plain(token: Token) -> None:
    """Remove what the text chose: attributes (classes, styles of a table) and the level of a heading."""
    token.attrs, token.info = {}, ""
    if token.type in ("heading_open", "heading_close"):
        token.tag = _HEADING
