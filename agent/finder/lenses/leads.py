"""Leads: items that lenses report. They are listed for the lenses of the next pass, or each is
worked within a budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...protocol import FinderSpec, ItemQueued, WorkFinished, WorkStarted
from ..items.frontier import CHUNK, Frontier
from ..items.item_state import Item, State
from .briefing import MOST_LEADS, sendable

if TYPE_CHECKING:
    from ...facts.search.finder_facts import FinderFacts
    from ...step.resources.context import RunContext


class Leads:
    """The leads of one search by lenses."""

    def __init__(self, ctx: RunContext, spec: FinderSpec, frontier: Frontier) -> None:
        self._ctx, self._spec, self._frontier = ctx, spec, frontier
        self.listed: list[Item] = []
        """The leads that are listed for the lenses of the open pass."""

    @property
    def _facts(self) -> FinderFacts:
        assert self._ctx.facts.finder is not None  # a run with lenses is a search
        return self._ctx.facts.finder

    def count_that_fit(self) -> int:
        """Return how many leads may be taken now. A lead that is worked needs room for all of its steps."""
        if not self._spec.leads.work:
            return MOST_LEADS
        each = self._spec.leads.allowance(self._ctx.facts.spec.item_steps)
        at_work = sum(flight.kind == "item" for flight in self._facts.flights.values())
        return max(0, (self._spec.leads.steps - self._facts.lead_steps) // each - at_work)

    def ready(self, now: float) -> list[Item]:
        """Return the leads that the lenses of the next pass can get, or, if leads are worked, the first one."""
        if self._facts.pass_open or not self._facts.queued or not self.count_that_fit():
            return []
        return self._frontier.ready(1 if self._spec.leads.work else MOST_LEADS, now)

    def take(self, ready: Sequence[Item]) -> None:
        """Assign these leads to the lenses of this pass. Leads that their prompts do not list stay in the queue."""
        if not self._spec.leads.work:
            self.listed[:] = sendable(ready)
            self._frontier.take([item.key for item in self.listed])

    def finish(self) -> None:
        """Mark leads as done that were sent to a lens which ended the pass; queue the others again as the next ones."""
        facts, keys = self._facts, [item.key for item in self.listed]
        self.listed.clear()
        sent_to = [name for name in facts.pass_lenses if facts.lenses[name].ran_in == facts.pass_number]
        if not sent_to:
            self._frontier.roll_back(keys)
            return
        for key in keys:
            if not self._frontier.finish(key):
                continue  # a person skipped it meanwhile
            self._ctx.events.record(WorkStarted(kind="item", about=key))
            self._ctx.events.record(
                WorkFinished(kind="item", about=key, ok=True, reason=f"sent to {', '.join(sent_to)}")
            )

    def send_again(self) -> None:
        """Queue the leads again, because a lens that runs again was not sent some of them."""
        while rows := self._frontier.page(State.DONE, limit=CHUNK):
            with self._ctx.events.together():
                for row in rows:
                    self._frontier.requeue(row.key, "resume")
                    self._ctx.events.record(
                        ItemQueued(
                            key=row.key, kind=row.kind, value=row.value, source="resume", reason="retry", was="done"
                        )
                    )
