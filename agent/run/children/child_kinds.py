"""Make the child runs of a run: goal runs for findings or for passes, or searches at fixed times."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...layers.copy_folder import copy_in
from ...protocol import (
    Budget,
    ChildStarted,
    FindingJudged,
    FindingReported,
    ImproveSpec,
    LoopKind,
    NewFinding,
    ParentRef,
    RunSpec,
)
from ..units.pass_texts import first_message
from .share import least_of, share_of

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...state.common.child_facts import Child
    from ...state.facts.pass_facts import PassFacts
    from ...state.facts.run_facts import RunFacts


def share_of_child(facts: RunFacts) -> Budget:
    """Return the budget of the next child run."""
    fix, repeat, improve = facts.spec.fix, facts.spec.repeat, facts.spec.improve
    if repeat is not None:
        return least_of(share_of(facts.budget, facts.spent, 1), repeat.budget)
    if improve is not None:
        return _share_of_pass(facts, improve)
    assert fix is not None  # the other loop with children
    ended = sum(not child.is_open for child in facts.common.children.by_number.values())
    return share_of(facts.budget, facts.spent, len(fix.targets) - ended)


def start_of_child(facts: RunFacts, number: int, run_id: str, journal: Path, share: Budget) -> ChildStarted:
    """Return the event with which a child run starts."""
    fix, repeat, improve = facts.spec.fix, facts.spec.repeat, facts.spec.improve
    if repeat is not None:
        loop, about, title = LoopKind.UNTIL_DRY, "", repeat.task
    elif improve is not None:
        loop, about, title = improve.pass_loop or LoopKind.GOAL, "", facts.spec.task
    else:
        assert fix is not None  # the other loop with children
        target = fix.targets[number - 1]
        loop, about, title = LoopKind.GOAL, target.key, target.title
    return ChildStarted(
        number=number, run_id=run_id, journal=str(journal), loop=loop, about=about, title=title, budget=share
    )


def spec_of_child(facts: RunFacts, child: Child, journal: Path) -> RunSpec:
    """Return the spec of a child run. `journal`: that of its parent."""
    spec = msgspec.structs.replace(
        facts.spec,
        run_id=child.run_id,
        images=[],
        model=facts.model_spec,
        budget=child.budget,
        gate=msgspec.structs.replace(facts.spec.gate, mode=facts.gate_mode),
        notify=None,
        fix=None,
        repeat=None,
        parent=ParentRef(run_id=facts.spec.run_id, journal=str(journal), number=child.number),
    )
    if facts.spec.repeat is not None:
        return searching(spec, facts.spec)
    if facts.spec.improve is not None:
        return _of_pass(spec, facts, facts.spec.improve, child.number)
    assert facts.spec.fix is not None  # the other loop with children
    target = facts.spec.fix.targets[child.number - 1]
    predicates = msgspec.structs.replace(spec.predicates, until=target.until, about=target.files)
    return msgspec.structs.replace(spec, loop=LoopKind.GOAL, task=target.task, predicates=predicates)


def _share_of_pass(facts: RunFacts, improve: ImproveSpec) -> Budget:
    """Return the budget of a pass: as many passes as may follow without an improvement can have an equal share."""
    passing = _pass_facts(facts)
    left = improve.patience - max(passing.stale, passing.unmeasured)
    limit = Budget(steps=improve.pass_steps, tokens=None, usd=None, seconds=None)
    return least_of(share_of(facts.budget, facts.spent, max(1, left)), limit)


def _of_pass(spec: RunSpec, facts: RunFacts, improve: ImproveSpec, number: int) -> RunSpec:
    """Return the spec of the child run that works a pass. The score command stays that of the parent."""
    passing = _pass_facts(facts)
    return msgspec.structs.replace(
        spec,
        workspace=str(copy_in(Path(passing.open.layer or ""))) if passing.open is not None else spec.workspace,
        loop=improve.pass_loop or LoopKind.GOAL,
        first_message=first_message(facts, passing, number),
        images=[*facts.spec.images, *passing.images],
        improve=None,
        needs_finish=passing.open is not None and passing.open.green,
        guarded_commands=[improve.score],
        commit_hooks=False,
    )


def _pass_facts(facts: RunFacts) -> PassFacts:
    assert facts.pass_facts is not None  # an improve run always has them
    return facts.pass_facts


def searching(spec: RunSpec, parent: RunSpec) -> RunSpec:
    """Return the spec of the search that a repeat run repeats. `parent`: the spec of that run."""
    repeat = parent.repeat
    assert repeat is not None  # only repeat runs
    return msgspec.structs.replace(spec, loop=LoopKind.UNTIL_DRY, task=repeat.task, finder=repeat.finder, repeat=None)


def new_findings(facts: RunFacts, child: Child, journal: Journal) -> list[NewFinding] | None:
    """Return the findings of a search that no earlier one had, or None if the child is not one of repeated searches."""
    if facts.spec.repeat is None:
        return None
    known = {
        finding.key
        for other in facts.common.children.by_number.values()
        if other.number != child.number and other.finished is not None
        for finding in other.finished.new or ()
    }
    found: dict[str, NewFinding] = {}
    for stamped in journal.read_types((FindingReported, FindingJudged)):
        match stamped.event:
            case FindingReported(key=key, title=title):
                found.setdefault(key, NewFinding(key=key, title=title))
            case FindingJudged(key=key, verdict=verdict) if verdict in ("refuted", "duplicate"):
                found.pop(key, None)
            case _:
                pass
    return [finding for key, finding in found.items() if key not in known]
