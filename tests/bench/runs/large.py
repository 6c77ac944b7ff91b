"""Attaching to a search of a million keys and to a run of 100,000 steps, next to a run of a few steps."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice
from pathlib import Path

from fakes.rundry import Home

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    Budget,
    Event,
    FinderSpec,
    ItemQueued,
    LoopKind,
    ModelSpec,
    Reason,
    Recipe,
    RunEnded,
    RunSpec,
    RunStarted,
)
from rundry.agent.state.facts.run_facts import RunFacts
from rundry.agent.state.view.view_keeper import ViewKeeper

from ..table import Row, middle
from .attach import attached, make_step

KEYS, STEPS, ROUNDS = 1_000_000, 100_000, 3
_END = "step budget: all of them"
_BATCH = 2_000


def measure(folder: Path) -> list[Row]:
    home, project = Home(folder), folder / "project"
    project.mkdir()
    finder = FinderSpec(recipe=Recipe.CRAWL)
    keys = (
        ItemQueued(key=f"k{n}", kind="url", value=f"http://127.0.0.1:9/{n}", source="seed", reason="seed")
        for n in range(KEYS)
    )
    _record(home.runs / "search.db", project, ((key, None) for key in keys), finder)
    _record(home.runs / "long.db", project, _steps(STEPS))
    _record(home.runs / "short.db", project, _steps(2))
    short, long, search = (
        middle([attached(home, project, name)[1] for _ in range(ROUNDS)]) for name in ("short", "long", "search")
    )
    return [
        Row(f"a screen's full state of a search of {KEYS:,} keys", search, "s", limit=2),
        Row(f"  of a run of {STEPS:,} steps", long, "s", limit=2),
        Row("  of a run of two steps", short, "s"),
    ]


def _steps(count: int) -> Iterable[tuple[Event, int | None]]:
    return ((event, number) for number in range(1, count + 1) for event in make_step(number))


def _record(
    path: Path, project: Path, events: Iterable[tuple[Event, int | None]], finder: FinderSpec | None = None
) -> None:
    """As a runner records: each event is folded, and the state is stored from time to time."""
    loop = LoopKind.GOAL if finder is None else LoopKind.UNTIL_DRY
    model = ModelSpec(name="fake")
    spec = RunSpec(run_id=path.stem, loop=loop, task="t", workspace=str(project), model=model, finder=finder)
    journal = Journal.create(path, spec)
    first = RunStarted(
        run_id=path.stem, loop=loop, task="t", workspace=spec.workspace, model="fake", budget=Budget(),
        journal=str(path), finder=finder,
    )  # fmt: skip
    last = RunEnded(reason=Reason.BUDGET, detail=_END, complete=False, exit_code=3)
    facts = RunFacts(spec)
    take = ViewKeeper(journal, facts).listener(lambda stamped: None)
    everything = iter(chain([(first, None)], events, [(last, None)]))
    while batch := list(islice(everything, _BATCH)):
        for stamped in journal.append_all([(event, step, None) for event, step in batch]):
            facts.apply(stamped)
            take(stamped)
    journal.close()
