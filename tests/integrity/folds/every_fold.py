"""All folds of one journal, as figures that can be compared."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from rundry.agent.budget.ledger import Ledger
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import HandoffOpened, RunEnded, RunSpec, Stamped
from rundry.agent.state.facts.checkpoint import facts_of
from rundry.agent.state.facts.reached_limit import reached_limit
from rundry.agent.state.facts.run_facts import RunFacts
from rundry.agent.state.reports.run_line import line_of_run
from rundry.agent.state.reports.run_state import run_state
from rundry.agent.state.reports.run_tally import RunTally, tally_of
from rundry.agent.state.view.load_entries import load_older
from rundry.agent.state.view.reduce import reduce, reduce_all
from rundry.agent.state.view.stored_views import store_view, stored_view
from rundry.agent.state.view.transcript_entries import IN_MEMORY
from rundry.agent.state.view.view_state import ViewState

Figures = dict[str, Any]
"""Name of a figure to its value."""


class GrowingJournal:
    """A copy of a journal that grows by one event at a time, with the folds that grow with it."""

    def __init__(self, path: Path, spec: RunSpec) -> None:
        self.path = path
        self.journal = Journal.create(path, spec)
        self.facts = RunFacts(self.journal.spec)
        self.view = ViewState()
        self.tally: RunTally | None = None
        self.newest: Stamped | None = None

    def append(self, stamped: Stamped) -> None:
        self.journal.now = lambda: stamped.at
        self.newest = self.journal.append(stamped.event, step=stamped.step, work=stamped.work)
        self.facts.apply(self.newest)
        reduce(self.view, self.newest)

    def store(self) -> None:
        """Store a checkpoint, as the runner does."""
        store_view(self.journal, self.facts, self.view, is_first=False)

    def close(self) -> None:
        self.journal.close()

    def compare(self) -> list[str]:
        """What the folds disagree about now."""
        return disagreements(self.figures())

    def figures(self) -> dict[str, Figures]:
        """The figures of each fold, by its name."""
        self.tally = tally_of(self.journal, self.tally)
        found = {
            "facts": of_facts(self.facts),
            "resumed facts": of_facts(facts_of(self.journal)),
            "view": of_view(self.view),
            "attached view": of_view(attached(self.journal)),
            "commands": of_commands(self.path),
            "report": of_tally(self.journal, tally_of(self.journal)),
            "continued report": of_tally(self.journal, self.tally),
            "runs": of_line(self.path),
        }
        match self.newest:
            case Stamped(event=RunEnded() as ended):
                found["outcome"] = of_outcome(ended)
            case Stamped(event=HandoffOpened() as opened):
                found["hand-off"] = of_record(opened)
            case _:
                pass
        return found


def disagreements(found: dict[str, Figures]) -> list[str]:
    """One line for each figure that is not the same in all folds that have it."""
    values: dict[str, dict[str, Any]] = defaultdict(dict)
    for fold, figures in found.items():
        for name, value in figures.items():
            values[name][fold] = value
    return [
        f"{name}: {by_fold}" for name, by_fold in values.items() if any(v != by_fold["facts"] for v in by_fold.values())
    ]


def disagreements_of(journal: Path, copy: Path) -> list[str]:
    """Cut a journal after each event, and return what its folds disagree about."""
    source = Journal.open(journal)
    events, spec = source.read(), source.spec
    source.close()
    growing = GrowingJournal(copy, spec)
    found: list[str] = []
    for stamped in events:
        growing.append(stamped)
        if stamped.seq == len(events) // 2:
            growing.store()
        found += [f"after event {stamped.seq} ({type(stamped.event).__name__}): {line}" for line in growing.compare()]
    growing.close()
    return found


def disagreements_about_damage(path: Path) -> list[str]:
    """Return what the folds of a whole journal disagree about, some of whose events cannot be read."""
    journal = Journal.open(path)
    facts, view = RunFacts(journal.spec), ViewState()
    for stamped in journal.read():
        facts.apply(stamped)
        reduce(view, stamped)
    found = {"facts": of_facts(facts), "view": of_view(view), "report": of_tally(journal, tally_of(journal))}
    journal.close()
    return disagreements({**found, "commands": of_commands(path)})


def attached(journal: Journal) -> ViewState:
    """The state of a view that attaches now."""
    state = stored_view(journal, limit=IN_MEMORY) or ViewState()
    load_older(state, journal)
    reduce_all(state, journal.read(state.last_seq))
    return state


def of_ledger(ledger: Ledger) -> Figures:
    return {
        "spent": ledger.spent,
        "counted": ledger.counted(),
        "in flight": ledger.in_flight,
        "holds": sorted(ledger.holds),
        "calls by model": dict(ledger.shares),
    }


def of_facts(facts: RunFacts) -> Figures:
    ledger = facts.ledger
    has_ended = facts.ended is not None
    return {
        **of_ledger(ledger),
        "spent since the message": ledger.since,
        "steps": ledger.spent.steps,
        "tokens": ledger.spent.tokens,
        "usd": None if ledger.spent.unpriced else ledger.spent.usd,
        "queue": [] if has_ended else sorted(facts.queue.items()),
        "stored queue": sorted(facts.queue.items()),
        "proposals": facts.requests.waiting(),
        "question": None if has_ended else next(reversed(facts.requests.questions.values()), None),
        "in control": facts.manual.wheel is not None,
        "background": sorted(facts.manual.background),
        "hand-off": None if has_ended else facts.handoff,
        "stored hand-off": facts.handoff,
        "hand-offs": facts.handoffs.newest.reason if facts.handoffs.newest is not None else "",
        "tier": None if has_ended else facts.handoffs.asked,
        "gate mode": facts.gate_mode,
        "budget": facts.budget,
        "search": facts.spec.finder,
        "improve": facts.spec.improve,
        "model": facts.model,
        "model spec": facts.model_spec,
        "paused": facts.paused,
        "finder": facts.finder,
        "end": facts.ended,
        "reason": facts.ended.reason if facts.ended is not None else None,
        "detail": facts.ended.detail if facts.ended is not None else "",
        "limit": reached_limit(facts.ended) if facts.ended is not None else None,
        "passes": facts.passes,
        "shares": list(ledger.shares.values()),
    }


def of_view(state: ViewState) -> Figures:
    if not state.run_id:
        return {}
    ledger = state.common.ledger
    return {
        **of_ledger(ledger),
        "spent since the message": ledger.since,
        "queue": sorted((each.queued_id, each) for each in state.queue),
        "proposals": dict(state.proposals),
        "question": state.question,
        "in control": state.is_user_in_control,
        "background": sorted(state.background),
        "hand-off": state.handoff,
        "hand-offs": state.last_handoff.reason if state.last_handoff is not None else "",
        "tier": state.tier,
        "gate mode": state.gate_mode,
        "budget": state.budget,
        "search": state.search,
        "improve": state.improve,
        "model": state.model,
        "paused": state.paused,
        "finder": state.finder,
        "end": state.outcome,
    }


def of_commands(path: Path) -> Figures:
    """What `rundry ctl`, `approve` and `inbox` know."""
    journal = Journal.open(path)
    state = run_state(journal)
    journal.close()
    return {
        "stored queue": sorted(state.queue.items()),
        "proposals": dict(state.proposals),
        "question": next(reversed(state.questions.values()), None),
        "stored hand-off": state.handoff,
        "budget": state.budget,
        "model spec": state.model,
        "end": state.ended,
    }


def of_tally(journal: Journal, tally: RunTally) -> Figures:
    ledger = tally.ledger
    return {
        **of_ledger(ledger),
        "hand-offs": tally.handoffs[-1] if tally.handoffs else "",
        "budget": tally.budget,
        "model": ledger.model or journal.spec.model.name,
        "reason": tally.reason,
        "limit": tally.limit,
    }


def of_line(path: Path) -> Figures:
    line = line_of_run(path)
    return {"steps": line.steps, "usd": line.usd, "reason": line.reason, "detail": line.detail}


def of_outcome(ended: RunEnded) -> Figures:
    return {"steps": ended.steps, "tokens": ended.tokens, "usd": ended.usd, "passes": ended.passes, "end": ended}


def of_record(opened: HandoffOpened) -> Figures:
    record = opened.record
    return {"spent": record.spent, "budget": record.budget, "shares": record.shares}
