"""Which URLs a crawl asks for: its own hosts, and of those what the person wants."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence

import msgspec

from ...protocol import UserError
from ...web.addresses import AddressRefused, address, is_plain, origin

_ON_ANY_HOST = "[^/]*//[^/]*"


class Sorted(msgspec.Struct, frozen=True):
    """A page's links."""

    inside: list[str]
    elsewhere: int
    """On other hosts."""
    left_out: int
    """Left out by the person's globs."""


class Scope:
    """The origins (scheme, host and port) of the seeds, compared whole, and globs over URLs.

    Where a seed is `http` by the default port, the same host's `https` is inside too: many sites move every visitor
    there. A glob that begins with `/` is matched from the path on, any other against the whole URL; `*` also crosses
    slashes. Seeds are asked for whatever the globs say.
    """

    def __init__(self, seeds: Iterable[str], *, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> None:
        """Raises UserError for a seed that is no URL."""
        try:
            origins = {origin(address(seed)) for seed in seeds}
        except AddressRefused as refused:
            raise UserError(f"crawl: {refused}: write http://HOST/ or https://HOST/") from None
        safe = {f"https{found[4:]}" for found in origins if re.fullmatch(r"http://(\[[^\]]*\]|[^:]*)", found)}
        self.origins = frozenset(origins | safe)
        self._below = tuple(f"{found}/" for found in self.origins)
        self._include, self._exclude = _pattern(include), _pattern(exclude)

    def require(self, url: str) -> str:
        """The URL, serialised, without a fragment. Raises AddressRefused where the crawl may not ask for it."""
        if url.startswith(self._below) and is_plain(url):  # most: they came out of `sort`
            return url
        found = address(url)
        if origin(found) not in self.origins:
            raise AddressRefused(f"{found} is not on the crawl's host ({', '.join(sorted(self.origins))})")
        return found

    def holds(self, url: str) -> bool:
        """It is on the crawl's hosts. Of a serialised URL."""
        return origin(url) in self.origins

    def sort(self, links: Sequence[str]) -> Sorted:
        """Of serialised URLs."""
        below = self._below
        on_host = [link for link in links if link.startswith(below)]
        wanted = [link for link in on_host if self._wants(link)] if self._include or self._exclude else on_host
        return Sorted(wanted, len(links) - len(on_host), len(on_host) - len(wanted))

    def _wants(self, url: str) -> bool:
        if self._include is not None and not self._include.fullmatch(url):
            return False
        return self._exclude is None or not self._exclude.fullmatch(url)


def _pattern(globs: Sequence[str]) -> re.Pattern[str] | None:
    if not globs:
        return None
    return re.compile("|".join(_ON_ANY_HOST * one.startswith("/") + fnmatch.translate(one) for one in globs))
