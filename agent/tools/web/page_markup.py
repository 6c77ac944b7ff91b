"""Parse HTML into a tree. Pages that would take too long are refused, because anyone can write a page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .urls import join_url

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

SMALL = 65_536
"""Bytes up to which a page is parsed without a check: the worst one takes a third of a second."""
_MOST_WORK = 300_000_000
"""About a second. The time for a tag grows with its depth (WHATWG HTML, 13.2.4.3), and the time for an attribute with
the number of attributes of the tag: ten megabytes of `<div>` would take hours."""
_TAG = re.compile(rb"<(/?)([a-zA-Z][^\s/>]*)((?:[^>\"']|\"[^\"]*\"|'[^']*')*)")
_VALUE = re.compile(rb"\"[^\"]*\"|'[^']*'")
_BETWEEN = re.compile(rb"[\s/]+")
_FEW = 200
"""Bytes of attributes that are not counted."""
_CLOSE_THEMSELVES = frozenset(
    b"area base br col embed hr img input link meta param source track wbr a p li dt dd tr td th option".split()
)


class UnreadablePage(ValueError):
    """The page would take too long to parse; the message says why."""


def tree_of(page: str | bytes) -> LexborHTMLParser:
    """Parse a page into its tree. Raises UnreadablePage."""
    from selectolax.lexbor import LexborHTMLParser

    if len(page) > SMALL and _work(page if isinstance(page, bytes) else page.encode("utf-8", "replace")) > _MOST_WORK:
        raise UnreadablePage("its HTML is nested too deeply, or a tag has too many attributes: it is not parsed")
    return LexborHTMLParser(page)


def base_of_links(tree: LexborHTMLParser, url: str) -> str:
    """Return the base URL of the links of a page: its `<base href>` if that is an http(s) URL, else `url`."""
    found = tree.css_first("base[href]")
    base = join_url(url, found.attributes["href"] or "") if found is not None else None
    return base if base is not None and base.startswith(("http://", "https://")) else url


def _work(page: bytes) -> int:
    """Return an upper estimate of the parser's steps. Counting stops above the limit."""
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
