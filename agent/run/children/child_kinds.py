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
    Predicates,
    ReviewLoopSpec,
    RunSpec,
)
from ...state.search.finder_facts import FINDER_EVENTS, FinderFacts
from ..loops.review import rounds_of
from ..units.pass_texts import first_message
from .called_child import gate_of_child
from .fix_target import target_of
from .share import least_of, share_of

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...protocol import Target
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
    if facts.spec.review is not None:
        return _share_of_review(facts)
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
    elif facts.spec.review is not None:
        loop, about, title = _of_review(facts, number)
    else:
        assert fix is not None  # the other loop with children
        target = fix.targets[number - 1]
        loop, about, title = LoopKind.GOAL, target.key, target.title
    return ChildStarted(
        number=number, run_id=run_id, journal=str(journal), loop=loop, about=about, title=title, budget=share
    )


def spec_of_child(facts: RunFacts, child: Child, journal: Path, diff: str | None = None) -> RunSpec:
    """Return the spec of a child run. `journal`: that of its parent. `diff`: hash of a diff that was taken for it."""
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
        review=None,
        parent=ParentRef(run_id=facts.spec.run_id, journal=str(journal), number=child.number),
    )
    if facts.spec.review is not None:
        return _in_review(spec, facts, facts.spec.review, child, diff)
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


def _share_of_review(facts: RunFacts) -> Budget:
    """Return the budget of the next child of a review: half of what is left for a search, else an equal share."""
    open_child, pending = facts.common.children.open, len(rounds_of(facts.common.children).pending)
    if open_child is not None:
        pending += bool(open_child.about)
    return share_of(facts.budget, facts.spent, pending + 1 if pending else 2)


def _of_review(facts: RunFacts, number: int) -> tuple[LoopKind, str, str]:
    """Return loop, key and title of a child of a review: that of a known one, or of the next one."""
    known, review = facts.common.children.by_number.get(number), facts.spec.review
    assert review is not None  # only review runs
    if known is not None:
        return LoopKind.GOAL if known.about else LoopKind.UNTIL_DRY, known.about, known.title
    pending = rounds_of(facts.common.children).pending
    if pending:
        return LoopKind.GOAL, pending[0].key, pending[0].title
    return LoopKind.UNTIL_DRY, "", review.task


def _in_review(spec: RunSpec, facts: RunFacts, review: ReviewLoopSpec, child: Child, diff: str | None) -> RunSpec:
    """Return the spec of a search or of a repair. A repair works in a stage, whose result its parent decides on."""
    if not child.about:
        finder, given = review.finder, review.finder.review
        if diff is not None and given is not None:
            finder = msgspec.structs.replace(finder, review=msgspec.structs.replace(given, diff=diff))
        kept = Predicates(guard=spec.predicates.guard, scope=spec.predicates.scope, timeout=spec.predicates.timeout)
        return msgspec.structs.replace(spec, loop=LoopKind.UNTIL_DRY, task=review.task, finder=finder, predicates=kept)
    target = target_of_review(facts, child.about)
    assert spec.parent is not None  # set for each child
    return msgspec.structs.replace(
        spec,
        loop=LoopKind.GOAL,
        task=target.task,
        gate=msgspec.structs.replace(spec.gate, mode=gate_of_child(facts.gate_mode), falls_back=False),
        predicates=msgspec.structs.replace(spec.predicates, until=target.until, about=target.files),
        parent=msgspec.structs.replace(spec.parent, stages=True),
        needs_finish=True,
    )


def target_of_review(facts: RunFacts, key: str) -> Target:
    """Return what a repair works on, as the newest search that found it says."""
    ended = (child.finished for child in reversed(facts.common.children.by_number.values()))
    found = (target for each in ended if each is not None for target in each.targets or ())
    return next(target for target in found if target.key == key)


def targets_in(facts: RunFacts, child: Child, journal: Journal) -> list[Target] | None:
    """Return what the findings of a search need as repairs, or None if the child is not a search of a review."""
    review = facts.spec.review
    if review is None or child.about:
        return None
    search = FinderFacts.of(review.finder)
    for stamped in journal.read_types(FINDER_EVENTS):
        search.apply(stamped)
    counting = (finding for finding in search.findings.values() if finding.counts_in_review)
    return [target_of(finding, review.until, review.task, facts.spec.workspace) for finding in counting]


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
