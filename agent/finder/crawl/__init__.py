"""The crawler: a worker that follows links within the hosts of its seeds."""

from .crawler import PAGE, SKIPPED, Crawler
from .links import links_of
from .scope import Scope

__all__ = ["PAGE", "SKIPPED", "Crawler", "Scope", "links_of"]
