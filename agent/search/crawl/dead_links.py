"""Report a link that leads nowhere as a finding, with the page that has the link."""

from __future__ import annotations

from ...state.search.finding_facts import DEAD_LINK
from ...tools.web.urls import UrlRefused, normalized_url
from ..workers.worker import ReportedFinding, WorkItem

_NOT_PUBLIC = frozenset({401, 402, 403, 407, 451})
"""Status codes of pages that exist, but not for the crawl (RFC 9110, RFC 7725)."""


def dead_link(item: WorkItem, error: str, status: int | None = None) -> ReportedFinding | None:
    """Return the finding for a URL that cannot be read, or None if the page exists, but the crawl may not read it.

    The evidence is the page that has the link: the one that the crawl read first.
    """
    if status in _NOT_PUBLIC:
        return None
    page = item.source if item.source.startswith(("http://", "https://")) else ""
    detail = f"{page} links to {item.value}" if page else f"{item.value} is a start address of the crawl"
    return ReportedFinding(
        title=f"dead link {_short(item.value, page)}: {error}",
        detail=f"{detail}, which answers: {error}",
        evidence=page,
        key=f"{DEAD_LINK}{item.key}",
    )


def _short(url: str, page: str) -> str:
    """Return the URL without its host if the page with the link has the same one."""
    try:
        found, linking = normalized_url(url), normalized_url(page) if page else ""
    except UrlRefused:
        return url
    host = found.split("/", 3)[:3]
    return f"/{found.split('/', 3)[3]}" if linking and linking.split("/", 3)[:3] == host else url
