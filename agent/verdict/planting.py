"""Run a check with planted tests in a view: before the first call to find those that it reports, and at the end."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ..protocol import PlantPrepared
from .checked import checked_in_view
from .counts import first_counts
from .plant import Plan, command_with_plant, env_with_plant, plant, plants_for, proven, suspicion, words_of
from .view import Taken, ViewFailed, open_view

if TYPE_CHECKING:
    from ..stops.checks import CheckResult
    from .case import Case
    from .view import JudgeView


class Planted(NamedTuple):
    """What a run of a check with planted tests showed."""

    why: str
    """Why the result is suspect; empty: exactly the planted tests failed."""
    words: str
    """What the plant showed, for people; empty: nothing could be planted."""


async def prepare_plants(case: Case) -> None:
    """Record for each check which tests can be planted: those that it reports as failed on the user's own code.

    Called before the first call, when the checks have run once.
    """
    for command in case.facts.spec.predicates.until:
        if command not in case.facts.verdicts.plants:
            plan = await _prepared(case, command)
            blob = None if plan is None else case.journal.keep(msgspec.json.encode(plan))
            case.record(PlantPrepared(command=command, plan=blob))


async def _prepared(case: Case, command: str) -> Plan | None:
    first = first_counts(case, command)
    try:
        async with open_view(case.layers, case.sandbox, Taken({}, {})) as view:
            plan = await asyncio.to_thread(plants_for, command, view.root, first, secrets.token_hex(16))
            written = None if plan is None else await asyncio.to_thread(plant, plan, view.root)
            if written is None:
                return None
            return proven(written, first, await _tried(case, view, written, only=True))
    except (ViewFailed, OSError):
        return None


async def planted(case: Case, command: str, taken: Taken, green: CheckResult) -> Planted:
    """Run a check with its planted tests in a view. `green`: the result in such a view without them.

    Raises ViewFailed.
    """
    blob = case.facts.verdicts.plants.get(command)
    try:
        plan = None if blob is None else msgspec.json.decode(case.journal.blob(blob), type=Plan)
    except (KeyError, msgspec.DecodeError) as error:
        raise ViewFailed(f"the record of the planted tests is damaged: {error}") from error
    if plan is None:
        return Planted("", "")
    async with open_view(case.layers, case.sandbox, taken) as view:
        try:
            written = await asyncio.to_thread(plant, plan, view.root)
        except OSError as error:
            raise ViewFailed(f"no test can be planted: {error}") from error
        if written is None:
            return Planted("", "")
        result = await _tried(case, view, written, only=False)
    why = suspicion(written, green.counted, result)
    return Planted(f"`{command}`: {why}" if why else "", "" if why else words_of(written, result))


async def _tried(case: Case, view: JudgeView, plan: Plan, *, only: bool) -> CheckResult:
    env = env_with_plant(plan, case.env, only=only)
    return await checked_in_view(case, view, command_with_plant(plan, only=only), env=env)
