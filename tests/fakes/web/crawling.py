"""Crawls of a fake site, in process."""

from __future__ import annotations

from pathlib import Path

from fakes.in_process.headless_run import Played, resume_run, spec_of
from fakes.web.site import Site
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Budget, FinderSpec, LoopKind, ModelSpec, Recipe, Seed


async def crawled(
    folder: Path, site: Site, *, start: str = "/start", concurrency: int = 4, retries: int = 0, **more: object
) -> Played:
    """Crawl the site from `start` to the end. `more`: further fields of the `FinderSpec`."""
    seeds = [Seed(kind="url", value=f"{site.url}{start}")]
    finder = FinderSpec(recipe=Recipe.CRAWL, seeds=seeds, sceptics=0, retries=retries, concurrency=concurrency, **more)
    spec = spec_of(
        None,
        folder,
        task="crawl",
        loop=LoopKind.UNTIL_DRY,
        model=ModelSpec(name="none"),
        budget=Budget(steps=1_000),
        finder=finder,
    )
    journal = folder / "run.db"
    Journal.create(journal, spec).close()
    return await resume_run(journal)
