"""Run a check with planted tests in a view: before the first call to find those that it reports, and at the end."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ...protocol import JudgePreparing, PlantPrepared
from ..judge.checked import checked_in_view
from ..judge.first_counts import first_counts
from ..judge.judge_view import ViewContent, ViewFailed, open_view
from .plant import PlantPlan, command_with_plant, env_with_plant, plant, plant_words, plants_for, proven, suspicion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...protocol import RunSpec
    from ..checks.run_check import CheckResult
    from ..counting.counted import Counted
    from ..judge.judge_case import Case
    from ..judge.judge_view import JudgeView


_PLANTED_ITEMS = 3
"""Items of a migration for whose checks tests are planted."""
_MOST_ITEMS = 6
"""Number of items for which this is tried."""


class Planted(NamedTuple):
    """What a run of a check with planted tests showed."""

    why: str
    """Why the result is suspect, or empty if exactly the planted tests failed."""
    words: str
    """What the plant showed, for people. Empty means nothing could be planted."""


async def prepare_plants(case: Case) -> None:
    """Record for each check which tests can be planted: those that it reports as failed on the user's own code.

    A score that starts a runner of tests counts as such a check. Called before the first call.
    """
    spec = case.facts.spec
    for command in [*spec.predicates.until, *score_of(spec)]:
        if command not in case.facts.verdicts.plants:
            case.events.record(await _prepared(case, command))


def score_of(spec: RunSpec) -> list[str]:
    """Return the command that measures the score, if it is not one of the checks."""
    found = [] if spec.improve is None else [spec.improve.score]
    return [command for command in found if command not in spec.predicates.until]


async def prepare_plants_of_items(case: Case, commands: Sequence[str]) -> None:
    """Record which tests can be planted for some of the checks of a migration, which are chosen at random."""
    different = [*dict.fromkeys(commands)]
    chosen = secrets.SystemRandom().sample(different, min(len(different), _MOST_ITEMS))
    found = 0
    for command in chosen:
        prepared = await _prepared(case, command)
        case.events.record(prepared)
        found += prepared.plan is not None
        if found == _PLANTED_ITEMS:
            return


async def _prepared(case: Case, command: str) -> PlantPrepared:
    """Return what can be planted for a check. If it did not run yet, it first runs here without the plant."""
    first, seconds, first_seconds, plan = first_counts(case, command), 0.0, None, None
    is_score = command in score_of(case.facts.spec)
    try:
        async with open_view(case.layers, case.sandbox, ViewContent({}, {})) as view:
            seed = secrets.token_hex(16)
            found = await asyncio.to_thread(plants_for, command, view.root, first, seed, is_score=is_score)
            if found is not None:
                case.events.record(JudgePreparing(what="plant", command=command))
            if found is not None and not is_score and not _has_run(case, command):
                alone = await checked_in_view(case, view, command)
                first, first_seconds = alone.counted, alone.seconds
                found = await asyncio.to_thread(plants_for, command, view.root, first, seed)
            written = None if found is None else await asyncio.to_thread(plant, found, view.root)
            if written is not None:
                tried = await _tried(case, view, written, only=True)
                plan, seconds = proven(written, first, tried), tried.seconds
    except (ViewFailed, OSError):
        plan = None
    blob = None if plan is None else case.journal.blobs.keep(msgspec.json.encode(plan))
    return PlantPrepared(command=command, plan=blob, seconds=seconds, first_seconds=first_seconds)


def _has_run(case: Case, command: str) -> bool:
    return command in case.facts.verdicts.checks or command in case.facts.verdicts.references


async def planted(case: Case, command: str, content: ViewContent, before: Counted | None) -> Planted:
    """Run a check with its planted tests in a view. `before`: its counts in such a view without them.

    Raises ViewFailed.
    """
    prepared = case.facts.verdicts.plants.get(command)
    blob = None if prepared is None else prepared.plan
    try:
        plan = None if blob is None else msgspec.json.decode(case.journal.blobs.load(blob), type=PlantPlan)
    except (KeyError, msgspec.DecodeError) as error:
        raise ViewFailed(f"the record of the planted tests is damaged: {error}") from error
    if plan is None:
        return Planted("", "")
    async with open_view(case.layers, case.sandbox, content) as view:
        try:
            written = await asyncio.to_thread(plant, plan, view.root)
        except OSError as error:
            raise ViewFailed(f"no test can be planted: {error}") from error
        if written is None:
            return Planted("", "")
        result = await _tried(case, view, written, only=False)
    why = suspicion(written, before, result)
    return Planted(f"`{command}`: {why}" if why else "", "" if why else plant_words(written, result))


async def _tried(case: Case, view: JudgeView, plan: PlantPlan, *, only: bool) -> CheckResult:
    env = env_with_plant(plan, case.env, only=only)
    return await checked_in_view(case, view, command_with_plant(plan, only=only), env=env)
