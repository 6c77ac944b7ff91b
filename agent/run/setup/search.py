"""Assemble the search of an until-dry run from its spec."""

from __future__ import annotations

from ...finder.finder import Finder
from ...finder.workers import Worker
from ...model import NO_MODEL
from ...protocol import FinderSpec, LoopKind
from ...step import Kit
from .inputs import Outside


def search_of(kit: Kit, outside: Outside) -> Finder | None:
    """Return the search, or None for other loops."""
    spec = kit.facts.spec
    if spec.loop is not LoopKind.UNTIL_DRY or spec.finder is None:
        return None
    has_model = kit.models.of_run.name != NO_MODEL
    return Finder(kit, spec.finder, worker_of(kit, spec.finder), has_model=has_model, open_model=outside.open_model)


def worker_of(kit: Kit, spec: FinderSpec) -> Worker | None:
    """Return the worker for items, or None if a model works them."""
    if spec.traits.fetches_pages:
        from ...finder.crawl import Crawler

        return Crawler(
            [seed.value for seed in spec.seeds],
            rate=spec.rate,
            include=spec.include,
            exclude=spec.exclude,
            robots=spec.robots,
            clock=kit.clock,
        )
    if spec.worker is None:
        return None
    if spec.worker.python is not None:
        from ...finder.workers.python import PythonWorker

        return PythonWorker(
            spec.worker.python,
            workspace=kit.workspace.root,
            env=kit.env,
            sandbox=kit.sandbox,
            seconds=spec.worker.timeout,
        )
    from ...finder.workers.command import CommandWorker

    return CommandWorker(
        spec.worker.command,
        workspace=kit.workspace.root,
        env=kit.env,
        sandbox=kit.sandbox,
        seconds=spec.worker.timeout,
    )
