"""Choose which URLs a crawl fetches: those on its own hosts that match the user's globs."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence

import msgspec

from ...protocol import UserError
from ...tools.web.urls import UrlRefused, is_normalized, normalized_url, origin

_ON_ANY_HOST = "[^/]*//[^/]*"


class SortedLinks(msgspec.Struct, frozen=True):
    """A page's links, sorted by whether the crawl follows them."""

    inside: list[str]
    elsewhere: int
    """How many lead to other hosts."""
    left_out: int
    """How many the user's globs exclude."""


class CrawlScope:
    """The origins (scheme, host and port) of the seeds, and globs over URLs.

    If a seed is `http` on the default port, the same host's `https` is in scope too, because many sites redirect there.
    A glob that begins with `/` is matched against the URL from its path on, any other glob against the whole URL. `*`
    also matches slashes. Seeds are fetched even if the globs exclude them.
    """

    def __init__(self, seeds: Iterable[str], *, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> None:
        """Set the scope. Raises UserError for a seed that is not a URL."""
        try:
            origins = {origin(normalized_url(seed)) for seed in seeds}
        except UrlRefused as refused:
            raise UserError(f"crawl: {refused}: write http://HOST/ or https://HOST/") from None
        safe = {f"https{found[4:]}" for found in origins if re.fullmatch(r"http://(\[[^\]]*\]|[^:]*)", found)}
        self.origins = frozenset(origins | safe)
        self._below = tuple(f"{found}/" for found in self.origins)
        self._include, self._exclude = _pattern(include), _pattern(exclude)

    def require(self, url: str) -> str:
        """Return the URL, serialized, without a fragment. Raises UrlRefused if the crawl may not fetch it."""
        if url.startswith(self._below) and is_normalized(url):  # the usual case: a URL that `sort` returned
            return url
        found = normalized_url(url)
        if origin(found) not in self.origins:
            raise UrlRefused(f"{found} is not on the crawl's host ({', '.join(sorted(self.origins))})")
        return found

    def contains(self, url: str) -> bool:
        """Return whether a serialized URL is on the crawl's hosts."""
        return origin(url) in self.origins

    def sort(self, links: Sequence[str]) -> SortedLinks:
        """Sort serialized URLs into those to follow and those to leave out."""
        below = self._below
        on_host = [link for link in links if link.startswith(below)]
        wanted = [link for link in on_host if self._wants(link)] if self._include or self._exclude else on_host
        return SortedLinks(wanted, len(links) - len(on_host), len(on_host) - len(wanted))

    def _wants(self, url: str) -> bool:
        if self._include is not None and not self._include.fullmatch(url):
            return False
        return self._exclude is None or not self._exclude.fullmatch(url)


def _pattern(globs: Sequence[str]) -> re.Pattern[str] | None:
    if not globs:
        return None
    return re.compile("|".join(_ON_ANY_HOST * one.startswith("/") + fnmatch.translate(one) for one in globs))
