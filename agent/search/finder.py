"""The search of one run: the state that it decides from, its workers, and what it records between two decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..protocol import (
    CriticSpoke,
    Exhausted,
    FinderSpec,
    FindingJudged,
    ItemQueued,
    PassFinished,
    PassStarted,
    Work,
    WorkFinished,
    WorkResult,
    WorkStarted,
)
from .checking import CheckRunner, LocalChecks, check_of, files_of
from .file_scan import SCAN
from .items.frontier import CHUNK, Frontier
from .items.item_intake import ItemIntake
from .items.item_passes import ItemPasses
from .items.item_state import Candidate, Item, State
from .items.work_item import ItemWorks
from .lenses.known_findings import answer_of, duplicate_in, verdict_of
from .lenses.lens_files import LensScope
from .lenses.lens_prompt import MOST_LEADS, sendable
from .lenses.model_work import ModelWork
from .migrate import Migrate
from .review.reviewed import Reviewed
from .search_state import FinderState, is_pass_over, lenses_of_next_pass, lenses_to_retry, streak_after

if TYPE_CHECKING:
    from ..state.search.finder_facts import FinderFacts
    from ..step.resources.run_context import RunContext
    from .item_trees import ItemTrees
    from .workers.worker import Worker

AHEAD = 64
"""Items that are taken out of the queue together, before a worker is free for each."""
NAMED = 3
"""Failed items that the one-line reason of an end names."""
_LISTED = 1_000
"""Keys of failed items that an outcome names."""


class Finder:
    """The search of an until-dry run. The runner makes it, and the loop's `decide` reads its `state`."""

    def __init__(
        self,
        ctx: RunContext,
        spec: FinderSpec,
        worker: Worker | None,
        *,
        has_model: bool,
        trees: ItemTrees | None = None,
        checks: CheckRunner | None = None,
    ) -> None:
        self.ctx = ctx
        self.frontier = Frontier(ctx.journal)
        self._review = Reviewed.of(ctx, spec)
        self.intake = ItemIntake(ctx, self.frontier, ctx.workspace.root, self._review)
        self.leads = Leads(ctx, spec, self.frontier)
        self.has_model = has_model
        self._scope = LensScope(ctx.workspace, spec.paths if self._review is None else self._review.paths, spec.seeds)
        self._model_work = ModelWork(ctx, spec, self.intake, self.leads.listed, self._review)
        self._items = ItemWorks(ctx, self.intake, worker, self._model_work)
        self._worker = worker
        self._trees = trees
        self._checks = checks or LocalChecks()
        self._migrate = Migrate(ctx, spec, self.intake, trees, self._checks) if spec.check is not None else None

    @property
    def spec(self) -> FinderSpec:
        """The spec of the search with its current limits."""
        return self.ctx.facts.search

    @property
    def facts(self) -> FinderFacts:
        """The facts of the search in the journal."""
        assert self.ctx.facts.finder is not None  # the run's spec has a finder
        return self.ctx.facts.finder

    def begin(self) -> None:
        """Record the seeds as seen and queue them."""
        seeds = [Candidate(seed.kind, seed.value) for seed in self.spec.seeds]
        with self.ctx.events.together():
            self.intake.add_items(seeds, "seed", self.ctx.events, reason="seed")
            if self._review is not None:
                self._review.begin(self.ctx.models.current.window, self.ctx.events)

    def resume(self, *, after_end: bool = False) -> None:
        """Queue again what a dead runner was working on, and queue the seeds that it did not reach.

        `after_end`: the run had ended, so what failed permanently is tried again.
        """
        with self.ctx.events.together():
            self.frontier.roll_back()
        if after_end:
            if not self.spec.leads.work and any(lens.missed for lens in self.facts.lenses.values()):
                self.leads.send_again()
            self._try_again()
        if not self.facts.seen:
            self.begin()

    def _try_again(self) -> None:
        """Retry what failed permanently: items with all of their attempts, lenses with one."""
        while rows := self.frontier.page(State.SET_ASIDE, limit=CHUNK):
            with self.ctx.events.together():
                for row in rows:
                    self.frontier.requeue(row.key, "resume", attempts=0)
                    was = row.state.value
                    self.ctx.events.record(
                        ItemQueued(
                            key=row.key, kind=row.kind, value=row.value, source="resume", reason="retry", was=was
                        )
                    )
        names = [lens.name for lens in self.facts.lenses.values() if lens.failed is not None]
        if names:
            text = f"{', '.join(names)} failed before: one more attempt, because the run was resumed"
            self.ctx.events.record(CriticSpoke(half="code", lenses=names, text=text))

    def state(self, busy: frozenset[str], exhausted: Exhausted | None) -> FinderState:
        """Record the events that follow from the facts, then return the state that the loop decides from."""
        state = self._look(busy, None)
        seq = self.ctx.facts.last_seq
        self._record_due(state)
        return state if self.ctx.facts.last_seq == seq and exhausted is None else self._look(busy, exhausted)

    async def perform(self, work: Work) -> WorkResult:
        """Do one work order from start to end. Its result is in the journal when this returns."""
        if self._migrate is not None and work.kind == SCAN:
            return await self._migrate.scan(work)
        if self._migrate is not None:
            item = self._items.take(work)
            return WorkResult(work=work.work) if item is None else await self._migrate.fix(work, item)
        if work.kind == "item":
            return await self._items.perform(work)
        if work.kind != "lens":
            return await self._model_work.perform(work)
        self._scope.begin(self.ctx.events)
        result = await self._model_work.perform(work)
        await self._scope.place(self.facts, work.about, self.ctx.events)
        return result

    def checks_to_judge(self) -> list[str]:
        """Return the check of each file that did not fail permanently, and whose result nobody accepted as suspect.

        Reads the disk.
        """
        assert self.spec.check is not None  # only a migration is judged
        files, _ = files_of(self.spec.globs, self.ctx.workspace)
        others = {*self.frontier.set_aside_keys(), *self.facts.suspects.accepted}
        return [check_of(self.spec.check, path) for key, path in sorted(files.items()) if key not in others]

    def skip(self, key: str) -> bool:
        """Skip an item. Returns False if it is being worked or was worked already."""
        if any(flight.about == key for flight in self.facts.flights.values()):
            return False
        self._items.offered.pop(key, None)
        return self.intake.skip(key, self.ctx.events)

    def answer(self) -> str | None:
        """Return the confirmed findings as a text, or None if there is nothing to report."""
        found = answer_of(self.facts.findings.values())
        cut = self.facts.cut
        if cut is None or not cut.left_out:
            return found
        return "\n\n".join(part for part in (found, "Not looked at:\n" + "\n".join(map(_item, cut.left_out))) if part)

    def failed_items(self) -> Sequence[str]:
        """Return the keys of the items that failed permanently."""
        return self.frontier.set_aside_keys()[:_LISTED]

    async def close(self) -> None:
        """Stop the worker's processes, remove the worktrees, and return the items that nobody worked to the queue."""
        self.frontier.roll_back(list(self._items.offered))
        for one in (self._trees, self._scope, self._checks, self.ctx.tools.elsewhere, self._worker):
            if one is not None:
                await one.close()

    def _look(self, busy: frozenset[str], exhausted: Exhausted | None) -> FinderState:
        now = self.ctx.clock.now()
        ready = self._ready(max(0, self.spec.concurrency - len(busy)), now)
        waits = self.facts.queued and (self.leads.count_that_fit() or not self.facts.lenses)
        due = None if ready or not waits else self.frontier.next_due(now)
        return FinderState(
            spec=self.spec,
            facts=self.facts,
            ready=ready,
            item_in=None if due is None else max(0.0, due - now),
            now=now,
            busy=busy,
            has_model=self.has_model,
            exhausted=exhausted,
            broken=self._broken(),
            given_up=self._given_up(ready, busy),
            retryable=self._model_work.retryable,
        )

    def _ready(self, wanted: int, now: float) -> list[Item]:
        """Return the items that may be worked now: leads for the next pass of lenses, or items
        checked out in advance.
        """
        if self.facts.lenses and not (self.spec.leads.work and self.facts.pass_open):
            return self.leads.ready(now)
        wanted = min(wanted, self.leads.count_that_fit()) if self.facts.lenses else wanted
        offered = self._items.offered
        if len(offered) < wanted and self.facts.queued > len(offered):
            offered.update((item.key, item) for item in self.frontier.check_out(AHEAD, now))
        return [item for _, item in zip(range(wanted), offered.values(), strict=False)]

    def _given_up(self, ready: Sequence[Item], busy: frozenset[str]) -> list[str]:
        """Return some of the items that failed permanently. Only an end needs them."""
        if ready or busy or not self.facts.set_aside:
            return []
        rows = self.frontier.page(State.SET_ASIDE, limit=NAMED)
        return [row.value if row.kind == "file" else row.key for row in rows]

    def _broken(self) -> str | None:
        """Return why the search cannot continue: every lens failed permanently."""
        lenses = self.facts.lenses.values()
        if not lenses or any(lens.failed is None for lens in lenses) or lenses_to_retry(self.facts):
            return None
        return f"every lens failed: {next(lens.failed for lens in lenses if lens.failed)}"

    def _record_due(self, state: FinderState) -> None:
        """Record what follows from the facts: verdicts, the start and end of passes, and when the critic is skipped."""
        self._judge(state)
        if state.by_lenses:
            self._record_lens_passes(state)
        else:
            self._record_item_passes(state)

    def _judge(self, state: FinderState) -> None:
        events = self.ctx.events
        asked = self.spec.sceptics if self.has_model else 0
        for finding in [self.facts.findings[key] for key in self.facts.unjudged]:
            if finding.wants_evidence is not None or len(finding.votes) + len(finding.failures) < asked:
                continue
            if not asked:
                reasons = ["no verifier was asked"]
                events.record(FindingJudged(key=finding.key, verdict="confirmed", by="none", reasons=reasons))
                continue
            given_up = sum(count > self.spec.retries for count in finding.failures.values())
            if len(finding.votes) + given_up < asked:
                continue
            verdict = verdict_of(finding.votes, asked)
            if verdict is not None:
                events.record(
                    FindingJudged(
                        key=finding.key,
                        verdict=verdict,
                        by="sceptics",
                        reasons=[vote.reason for vote in finding.votes],
                        stands=finding.stands,
                        votes=len(finding.votes),
                        duplicate_of=duplicate_in(finding.votes) if verdict == "refuted" else None,
                    )
                )

    def _record_lens_passes(self, state: FinderState) -> None:
        facts = self.facts
        if is_pass_over(state):
            with self.ctx.events.together():
                self.leads.finish()
                self._finish_pass(streak_after(facts))
            state = self._look(state.busy, None)
        if facts.pass_open or state.is_judging:
            return
        lenses = lenses_of_next_pass(state)
        if not lenses and (names := lenses_to_retry(facts)):
            text = f"{', '.join(names)} failed: one more attempt before the search is dry"
            self.ctx.events.record(CriticSpoke(half="code", lenses=names, text=text))
            lenses = lenses_of_next_pass(self._look(state.busy, None))
        if lenses:
            with self.ctx.events.together():
                self.leads.take(state.ready)
                self.ctx.events.record(PassStarted(number=facts.pass_number + 1, lenses=lenses))
        elif facts.critic is None:
            self.ctx.events.record(CriticSpoke(half="code", text="every lens ran since the last discovery"))

    def _record_item_passes(self, state: FinderState) -> None:
        """Record the passes of items; those of a worker are recorded with its items."""
        if self._migrate is not None:
            self._record_scan_passes(state)
            return
        passes = ItemPasses(self.facts, self.spec)
        if state.is_drained or self.facts.pass_done >= self.spec.concurrency:
            for event in passes.end():
                self.ctx.events.record(event)
        if state.ready and self._worker is None:
            for event in passes.begin():
                self.ctx.events.record(event)

    def _record_scan_passes(self, state: FinderState) -> None:
        """Record passes of a migration: one full scan and the work on what it found."""
        facts = self.facts
        if facts.pass_open and state.is_drained and facts.scan_pass == facts.pass_number:
            self._finish_pass(0 if facts.pass_new or facts.pass_done else facts.streak + 1)
        if not facts.pass_open and state.is_drained and facts.scanned is None:
            self.ctx.events.record(PassStarted(number=facts.pass_number + 1))

    def _finish_pass(self, streak: int) -> None:
        facts = self.facts
        self.ctx.events.record(
            PassFinished(
                number=facts.pass_number, new=facts.pass_new, dry_streak=streak, dry_passes=self.spec.dry_passes
            )
        )


def _item(text: str) -> str:
    return f"- {text}"


class Leads:
    """Leads: items that lenses report.

    They are listed for the lenses of the next pass, or each is worked within a budget.
    """

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
