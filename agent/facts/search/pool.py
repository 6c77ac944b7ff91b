"""The total number of items of a search, if it is known before the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...protocol import FinderSpec
    from .finder_facts import FinderFacts


def pool_size(facts: FinderFacts, spec: FinderSpec) -> int | None:
    """Return the total number of items if no item brings new ones. None: it is not known.

    A migration knows it after the first scan. A crawl never does, because each page can link to new ones.
    """
    if facts.lenses or spec.traits.fetches_pages:
        return None
    is_known = facts.scan_pass > 0 if spec.check is not None else facts.item_seq == 0 and facts.done > 0
    return facts.queued + facts.working + facts.done + facts.set_aside + facts.skipped if is_known else None
