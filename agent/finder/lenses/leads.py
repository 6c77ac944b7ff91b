"""Leads: items that lenses report. The lenses of the next pass are told of them, or each is worked within a budget."""

from __future__ import annotations

from collections.abc import Sequence

from ...facts.search.finder_facts import FinderFacts
from ...protocol import FinderSpec, ItemQueued, WorkFinished, WorkStarted
from ...step import Kit
from ..items.frontier import CHUNK, Frontier
from ..items.item_state import Item, State
from .briefing import MOST_LEADS, sendable


class Leads:
    """Of one search by lenses."""

    def __init__(self, kit: Kit, spec: FinderSpec, frontier: Frontier) -> None:
        self._kit, self._spec, self._frontier = kit, spec, frontier
        self.told: list[Item] = []
        """What the lenses of the open pass are told of."""

    @property
    def _facts(self) -> FinderFacts:
        assert self._kit.facts.finder is not None  # this is a search
        return self._kit.facts.finder

    def that_fit(self) -> int:
        """How many leads may be taken now. One that is worked needs room for all steps that it may take."""
        if not self._spec.leads.work:
            return MOST_LEADS
        each = self._spec.leads.allowance(self._kit.facts.spec.item_steps)
        at_work = sum(flight.kind == "item" for flight in self._facts.flights.values())
        return max(0, (self._spec.leads.steps - self._facts.lead_steps) // each - at_work)

    def ready(self, now: float) -> list[Item]:
        """Before a pass: the leads that its lenses can be told of; where leads are worked, whether there is one."""
        if self._facts.pass_open or not self._facts.queued or not self.that_fit():
            return []
        return self._frontier.ready(1 if self._spec.leads.work else MOST_LEADS, now)

    def take(self, ready: Sequence[Item]) -> None:
        """The lenses of this pass are told of these; what their prompts do not list stays in the queue."""
        if not self._spec.leads.work:
            self.told[:] = sendable(ready)
            self._frontier.take([item.key for item in self.told])

    def finish(self) -> None:
        """Leads are done once they were sent to a lens that ended the pass; else they are the next ones again."""
        facts, keys = self._facts, [item.key for item in self.told]
        self.told.clear()
        sent_to = [name for name in facts.pass_lenses if facts.lenses[name].ran_in == facts.pass_number]
        if not sent_to:
            self._frontier.roll_back(keys)
            return
        for key in keys:
            if not self._frontier.finish(key):
                continue  # a person skipped it meanwhile
            self._kit.record(WorkStarted(kind="item", about=key))
            self._kit.record(WorkFinished(kind="item", about=key, ok=True, reason=f"sent to {', '.join(sent_to)}"))

    def send_again(self) -> None:
        """Queue the leads once more: a lens that works again was not sent some of them."""
        while rows := self._frontier.page(State.DONE, limit=CHUNK):
            with self._kit.together():
                for row in rows:
                    self._frontier.requeue(row.key, "resume")
                    self._kit.record(
                        ItemQueued(
                            key=row.key, kind=row.kind, value=row.value, source="resume", reason="retry", was="done"
                        )
                    )
