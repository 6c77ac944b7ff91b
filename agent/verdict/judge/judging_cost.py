"""Describe before the first call what the judge of a run will run, and how long that took now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...protocol import LoopKind
from ...protocol.text.counts import duration, plural

if TYPE_CHECKING:
    from ...protocol import RunSpec
    from .judge_case import Case

_EXACT = 10.0
"""Durations below this have tenths of a second."""


def cost_line(case: Case, items: Sequence[str] = ()) -> str:
    """Return what the judge runs besides the checks in the workspace. Empty means nothing that takes time.

    `items`: the checks of the items of a migration.
    """
    spec, verdicts = case.facts.spec, case.facts.verdicts
    parts = [_checks(case, items)]
    if verdicts.setup is not None:
        parts.append(f"--setup took {_words(verdicts.setup.seconds)}, and runs again if what it read is changed")
    if verdicts.holdout is not None:
        parts.append(f"the second check runs once{_took({'now': verdicts.holdout.seconds})}")
    line = "; ".join(part for part in parts if part)
    return f"Judge: {_when(spec)} {line}" if line else ""


def _checks(case: Case, items: Sequence[str]) -> str:
    spec, verdicts = case.facts.spec, case.facts.verdicts
    wanted = spec.predicates
    count = len(items) or len(wanted.until) + len(wanted.until_py) + (wanted.schema is not None)
    plants = [one for one in verdicts.plants.values() if one.plan is not None]
    of_plants = sum(one.seconds for one in plants)
    if not count:
        score = "the tests of the score run once with planted ones that must fail"
        return f"{score}{_took({'now': of_plants})}" if plants else ""
    what = ("the check of each item" if items else "the check") if count == 1 or items else f"the {count} checks"
    verb = "runs" if count == 1 or items else "run"
    tried = [one.first_seconds for one in verdicts.plants.values() if one.first_seconds is not None]
    first = [one.seconds for one in verdicts.checks.values()] or tried
    times = {"first run" if len(first) == 1 else "first runs": sum(first)}
    line = f"{what} {verb} once more"
    if plants:
        times["with planted tests"] = of_plants
        of_items = f"{'that' if len(plants) == 1 else 'those'} of {plural(len(plants), 'item')} " if items else ""
        return f"{line}, and {of_items}once with planted tests that must fail{_took(times)}"
    none = "; no failing test can be planted" if wanted.until or items else ""
    return f"{line}{none}{_took(times)}"


def _when(spec: RunSpec) -> str:
    if spec.tries is not None:
        return "for each green try until one passes, and at the end,"
    match spec.loop:
        case LoopKind.CHAT:
            return "after each answer with green changes"
        case LoopKind.INTERVAL | LoopKind.IMPROVE:
            return "at the end of each pass"
        case _:
            return "at the end"


def _took(times: dict[str, float]) -> str:
    shown = [f"{name} {_words(seconds)}" for name, seconds in times.items() if seconds]
    return f" ({', '.join(shown)})" if shown else ""


def _words(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < _EXACT else duration(seconds)
