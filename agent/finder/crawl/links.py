"""Extract the links of a page."""

from __future__ import annotations

import re

from ...web.markup import base_of, tree_of
from ...web.urls import join_url

_WHERE = "base[href],a[href],area[href],link[href][rel],frame[src],iframe[src],meta[http-equiv][content]"
_LINKED = frozenset({"next", "prev", "canonical", "alternate"})
"""Kinds of `<link>` that lead to pages; the other kinds name resources of the page."""
_REFRESH = re.compile(r"\s*[\d.]+\s*[;,\s]\s*(?:url\s*=\s*)?[\"']?([^\"']+)", re.IGNORECASE)


def links_of(page: str | bytes, url: str) -> list[str]:
    """Return the absolute http(s) URLs that the page at `url` links to, serialized, each once, in the page's order.

    Reads `<a>`, `<area>`, `<frame>`, `<iframe>`, `<link>` to pages and `<meta http-equiv=refresh>`, and applies `<base
    href>`. Leaves out fragments and the page itself. Raises UnreadablePage.
    """
    tree = tree_of(page)
    base = url
    references: dict[str, None] = {}
    for node in tree.css(_WHERE):
        attributes, tag = node.attributes, node.tag
        reference = attributes.get("href") or attributes.get("src")
        if tag == "link":
            reference = reference if _LINKED & set((attributes["rel"] or "").lower().split()) else None
        elif tag == "meta":
            reference = _refresh(attributes)
        elif tag == "base":
            base, reference = base_of(tree, url), None
        if reference and not reference.startswith("#"):
            references[reference] = None
    links = dict.fromkeys(join_url(base, reference) for reference in references)
    links.pop(url, None)
    return [link for link in links if link is not None and link.startswith(("http://", "https://"))]


def _refresh(attributes: dict[str, str | None]) -> str | None:
    if (attributes.get("http-equiv") or "").strip().lower() != "refresh":
        return None
    found = _REFRESH.match(attributes.get("content") or "")
    return found[1].strip() if found else None
