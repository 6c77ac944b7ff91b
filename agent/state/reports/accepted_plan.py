"""The plan that a person accepted in a run, and the run that carries it out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...budget.ledger import LEDGER_EVENTS, Ledger
from ...journal.journal import Journal
from ...protocol import LoopKind, PlanAccepted, Rewound, RunSpec, Said, Unknown
from ...protocol.text.shorten_text import end_cut
from ...settings.plan_spec import spec_of_plan, spec_of_planning
from ..facts.checkpoint import facts_of
from .run_files import journal_path, new_run_id
from .run_state import run_state

if TYPE_CHECKING:
    from ...protocol import Predicates
    from ..facts.run_facts import RunFacts

_BEFORE = "Before this, in a chat (its tools' results are left out):"
_MOST_SAID = 6_000
"""Characters of what was said in a chat that a run which makes a plan gets."""
_LONGEST_SAID = 2_000
"""Characters of one message of it."""


def accepted_plan(journal: Journal) -> PlanAccepted | None:
    """Return the plan that was accepted, or None if there is none, or somebody said something since."""
    if journal.spec.loop is not LoopKind.PLAN:
        return None
    events = journal.read_types([PlanAccepted, Said, Rewound])
    newest = events[-1].event if events else None
    return newest if isinstance(newest, PlanAccepted) else None


def run_of_plan(journal: Journal) -> Path | None:
    """Return the journal of the run that carries out the accepted plan, which may not have begun, or None."""
    accepted = accepted_plan(journal)
    return None if accepted is None else journal_path(journal.path.parent, accepted.run_id)


def next_spec(journal: Journal) -> RunSpec:
    """Return the spec of the run that carries out the plan accepted in this one. Raises JournalError."""
    accepted = accepted_plan(journal)
    assert accepted is not None  # the caller asked `run_of_plan`
    state, ledger = run_state(journal), Ledger()
    for stamped in journal.read_types(LEDGER_EVENTS - {Unknown}):
        ledger.apply(stamped)
    spec = spec_of_plan(journal.spec, accepted, state.budget, ledger.spent + ledger.cut)
    return msgspec.structs.replace(spec, model=state.model)


def planned_after_chat(journal: Journal, task: str) -> RunSpec:
    """Return the spec of a run that makes a plan for a task of this chat or ended goal run. Raises UserError.

    It has the settings and the limits of that run, with the mode and the rules that its gate has now. Its model knows
    what the person and the model said there, newest first, without what tools showed: it reads the files as they are
    now.
    """
    spec = journal.spec
    given, facts = spec.then or spec, facts_of(journal)
    mode = given.gate.mode if spec.then is not None else facts.gate_mode
    falls_back = given.gate.falls_back and mode is given.gate.mode
    then = msgspec.structs.replace(
        given,
        run_id=new_run_id(time.time()),
        loop=LoopKind.GOAL if given.loop is LoopKind.CHAT else given.loop,
        predicates=_predicates_of_person(journal, given),
        model=run_state(journal).model,
        gate=msgspec.structs.replace(given.gate, mode=mode, rules=facts.rules, falls_back=falls_back),
        first_message=None,
        images=[],
        plan=[],
        plan_of=None,
    )
    planning = msgspec.structs.replace(spec_of_planning(then), task=task)
    said = _said(facts)
    return msgspec.structs.replace(planning, first_message=f"{task}\n\n{_BEFORE}\n{said}") if said else planning


def _predicates_of_person(journal: Journal, given: RunSpec) -> Predicates:
    """Return what the person set to decide: of a run that carries out a plan, without the check of that plan."""
    path = None if given.plan_of is None else journal_path(journal.path.parent, given.plan_of)
    if path is None or not path.exists():
        return given.predicates
    planning = Journal.open(path)
    try:
        then = planning.spec.then
    finally:
        planning.close()
    return given.predicates if then is None else then.predicates


def _said(facts: RunFacts) -> str:
    """Return the texts of the person and of the model, oldest first, as many of the newest as there is room for."""
    found, room = list[str](), _MOST_SAID
    for message in reversed(facts.main.messages):
        who = {"user": "person", "assistant": "model"}.get(message.role)
        if who is None or not message.text.strip():
            continue
        found.append(f"{who}: {end_cut(message.text.strip(), min(room, _LONGEST_SAID))}")
        room -= len(found[-1])
        if room < _LONGEST_SAID // 4:
            break
    return "\n".join(reversed(found))
