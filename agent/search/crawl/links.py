"""Extract the links of a page, and find out whether the page only leads to another one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from ...tools.web.page_markup import base_of_links, tree_of
from ...tools.web.urls import join_url

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

_WHERE = "base[href],a[href],area[href],link[href][rel],frame[src],iframe[src],meta[http-equiv][content]"
_LINKED = frozenset({"next", "prev", "canonical", "alternate"})
"""Kinds of `<link>` that lead to pages; the other kinds name resources of the page."""
_REFRESH = re.compile(r"\s*(?:(\d+)|\.)[\d.]*\s*(?:[;,\s]\s*(?:url\s*=\s*)?[\"']?([^\"']+))?", re.IGNORECASE)
_SHOWN = "img,picture,svg,canvas,video,audio,object,embed,form"
"""Elements that are content without text."""
_UNSEEN = ["script", "style", "template", "noscript"]
_SOON = 10
"""Seconds up to which a refresh replaces the page before anybody has read it."""
_NOTE = 300
"""Characters of the text of a page that only says that it leads to another one."""


class PageLinks(msgspec.Struct, frozen=True):
    """What a page leads to."""

    links: list[str]
    """Absolute http(s) URLs, serialized, each once, in the page's order, without fragments and the page itself."""
    moves_to: str | None = None
    """The URL that a `<meta http-equiv=refresh>` loads instead, if the page has nothing else; also the page itself."""
    is_blank: bool = False
    """The page has neither a link nor anything to see."""


def read_page(page: str | bytes, url: str) -> PageLinks:
    """Return what the page at `url` leads to.

    Reads `<a>`, `<area>`, `<frame>`, `<iframe>`, `<link>` to pages and `<meta http-equiv=refresh>`, and applies `<base
    href>`. Raises UnreadablePage.
    """
    tree = tree_of(page)
    base = url
    references: dict[str, None] = {}
    refresh: tuple[int, str] | None = None
    for node in tree.css(_WHERE):
        attributes, tag = node.attributes, node.tag
        reference = attributes.get("href") or attributes.get("src")
        if tag == "link":
            reference = reference if _LINKED & set((attributes["rel"] or "").lower().split()) else None
        elif tag == "meta":
            found = _refresh(attributes)
            refresh, reference = refresh or found, found[1] if found is not None else None
        elif tag == "base":
            base, reference = base_of_links(tree, url), None
        if reference and not reference.startswith("#"):
            references[reference] = None
    joined = dict.fromkeys(join_url(base, reference) for reference in references)
    joined.pop(url, None)
    links = [link for link in joined if link is not None and link.startswith(("http://", "https://"))]
    if refresh is not None and refresh[0] <= _SOON:
        target = join_url(base, refresh[1]) if refresh[1] else url
        if not set(links) - {target} and not _has_content(tree, _NOTE):
            return PageLinks(links, moves_to=target)
    return PageLinks(links, is_blank=not links and not _has_content(tree, 0))


def _refresh(attributes: dict[str, str | None]) -> tuple[int, str] | None:
    """Return the seconds and the reference of a refresh (empty means the page itself), or None for another element."""
    if (attributes.get("http-equiv") or "").strip().lower() != "refresh":
        return None
    found = _REFRESH.match(attributes.get("content") or "")
    return (int((found[1] or "0")[:9]), (found[2] or "").strip()) if found else None


def _has_content(tree: LexborHTMLParser, note: int) -> bool:
    """Return whether the page shows more than `note` characters of text, or anything but text. Changes the tree."""
    if tree.css_first(_SHOWN) is not None:
        return True
    tree.strip_tags(_UNSEEN)
    return tree.body is not None and len("".join(tree.body.text().split())) > note
