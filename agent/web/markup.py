"""HTML into a tree, with a bound on what that may cost: a page is written by whoever likes to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .addresses import joined

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

SMALL = 65_536
"""Bytes of a page that is parsed without a look at it: the worst one takes a third of a second."""
_MOST_WORK = 300_000_000
"""About a second. Parsing takes, for each tag, as long as it is deep (WHATWG HTML, 13.2.4.3), and for each attribute of
a tag as long as it has others: ten megabytes of `<div>` would take hours."""
_TAG = re.compile(rb"<(/?)([a-zA-Z][^\s/>]*)((?:[^>\"']|\"[^\"]*\"|'[^']*')*)")
_VALUE = re.compile(rb"\"[^\"]*\"|'[^']*'")
_BETWEEN = re.compile(rb"[\s/]+")
_FEW = 200
"""Bytes of attributes that are not counted."""
_CLOSE_THEMSELVES = frozenset(
    b"area base br col embed hr img input link meta param source track wbr a p li dt dd tr td th option".split()
)


class UnreadablePage(ValueError):
    """The page would take too long to parse; says why."""


def tree_of(page: str | bytes) -> LexborHTMLParser:
    """The page's tree. Raises UnreadablePage."""
    from selectolax.lexbor import LexborHTMLParser

    if len(page) > SMALL and _work(page if isinstance(page, bytes) else page.encode("utf-8", "replace")) > _MOST_WORK:
        raise UnreadablePage("its HTML is nested too deeply, or a tag has too many attributes: it is not parsed")
    return LexborHTMLParser(page)


def base_of(tree: LexborHTMLParser, url: str) -> str:
    """What links on the page at `url` are relative to: its `<base href>`, where that is one for the web."""
    found = tree.css_first("base[href]")
    base = joined(url, found.attributes["href"] or "") if found is not None else None
    return base if base is not None and base.startswith(("http://", "https://")) else url


def _work(page: bytes) -> int:
    """Steps that the parser would take, from above; stops counting where they are too many."""
    work = depth = 0
    opened: dict[bytes, int] = {}
    for found in _TAG.finditer(page):
        closes, name, attributes = found.groups()
        name = name.lower()
        work += depth
        if len(attributes) > _FEW:
            work += len(_BETWEEN.findall(_VALUE.sub(b" ", attributes))) ** 2
        if work > _MOST_WORK:
            break
        if name in _CLOSE_THEMSELVES:
            continue
        if not closes:
            opened[name] = opened.get(name, 0) + 1
            depth += 1
        elif opened.get(name, 0):
            opened[name] -= 1
            depth -= 1
    return work
