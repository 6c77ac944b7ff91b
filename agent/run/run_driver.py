"""Carry out the loop's decisions: run work orders, wait, finish, and handle user commands between steps."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from ..protocol import (
    PERSON,
    Again,
    Finish,
    HandoffClosed,
    LoopKind,
    Outcome,
    Reason,
    RunResumed,
    Wait,
    Waiting,
    WorkResult,
)
from ..protocol.text.counts import first_names
from ..step.model_call.wrap_up import wrap_up
from ..step.resources.activity import PersonInterrupted
from ..step.tool_calls.direct_changes import record_background_changes
from .commands.control_report import begin_control, end_control
from .end.evidence_of_run import evidence_of
from .end.judge_run import ask_about_judgement
from .end.outcome_of_run import outcome_of
from .end.suspect_decisions import ask_about_suspects
from .end.unapproved import handed_over
from .end.undecided import note_at_end
from .live.hooks_of_run import deliver_messages
from .live.live_run import LiveRun, check_predicates
from .loops.shared.loop_state import not_prepared, undecided_handoff
from .staging.end_of_stage import end_in_stage
from .start.concurrent_runs import concurrent_runs
from .units.restart import take_back, unjudged

_SUCCESSES = frozenset({Reason.DONE, Reason.ANSWERED, Reason.PLATEAU, Reason.DRY})
_NAMED = 3
"""Maximum number of files that a reason names."""

if TYPE_CHECKING:
    from .commands.handle_commands import Inbox
    from .handoff.tiers import HandoffTiers


class RunDriver:
    """Drives one run. It acts on the requests of the person between two steps."""

    def __init__(self, run: LiveRun, inbox: Inbox, handoffs: HandoffTiers) -> None:
        self.run = run
        self._ctx, self._facts = run.ctx, run.ctx.facts
        self._inbox, self._handoffs = inbox, handoffs

    async def between_steps(self) -> None:
        """Handle user commands, wait while the run is paused, then deliver queued messages."""
        run = self.run
        await self.until_continued()
        await deliver_messages(run)
        is_due = self._facts.verdicts.is_check_due or unjudged(self._facts) is not None
        if is_due and run.requests.stop is None:
            await check_predicates(run)

    async def until_continued(self) -> None:
        """Handle user commands, and wait while the run is paused or the person is in control."""
        await self._inbox.read()
        await self.run.waits.until(self._may_continue)
        await self._give_control()

    def _may_continue(self) -> bool:
        return not self._facts.paused or self._ctx.activity.one_step or self._ctx.limits.deadline_passed()

    async def _give_control(self) -> None:
        """Give control to the person if they asked for it, and wait until they return it."""
        run = self.run
        if run.requests.wants_control and not run.is_user_in_control and run.can_take_control:
            await begin_control(run.ctx)
        run.requests.answer_control()
        await run.waits.until(lambda: not run.is_user_in_control)
        if run.is_user_in_control:
            await end_control(run.ctx, "", by="program")

    async def end_before_deciding(self) -> Finish | None:
        """Return an end that takes precedence over the decision of the loop, or None."""
        requested = self.run.requests.requested_end() or not_prepared(self._facts)
        return requested or await self._handoffs.before_deciding()

    async def perform(self, again: Again) -> list[WorkResult]:
        """Start this work, wait until any running work has finished, and return the results."""
        run, activity = self.run, self._ctx.activity
        if activity.one_step and again.works:
            activity.end_one_step()
            run.pool.start(again.works[:1])
        else:
            run.pool.start(again.works)
        results = await run.pool.next(again.within)
        if any(r.interrupted for r in results):  # an interrupt ends all work that runs, but no later work
            results += await run.pool.drain()
        if any(r.interrupted for r in results):
            run.pauses.after_interrupt()
        run.states.note_exhausted(results)
        return results

    async def wait(self, decision: Wait) -> None:
        """Sleep or wait until the time is over, a message arrives, or a stop is requested."""
        run = self.run
        if decision.sleep is not None:
            if await run.sleeper.sleep(decision.sleep, run.requests):
                self._ctx.stalls.forget(None)  # repeating calls after a sleep is not a stall
        elif decision.seconds is not None:
            with run.waits.timer(decision.seconds) as timer:
                await run.waits.until(
                    lambda: timer.done() or bool(self._facts.queue) or run.pool.take_request(), of_person=False
                )
        else:
            self._ctx.events.record(Waiting(why="message"))
            await run.waits.until(lambda: bool(self._facts.queue))

    async def end(self, decision: Finish) -> Outcome | None:
        """Return the outcome, or None if the run continues after a person was asked or took over."""
        run, facts = self.run, self._facts
        await run.pool.drain()
        if decision.reason is Reason.REFUSED and facts.spent.steps:  # a run with steps was not refused
            decision = msgspec.structs.replace(decision, reason=Reason.ERROR)
        decision = await self._with_unreviewed(handed_over(self._ctx, decision))
        if await self._continues(decision):
            return None
        if (doubt := await self._end_pass(decision)) is not None:
            return await self.end(doubt)
        if decision.reason is not Reason.DONE:
            await take_back(run)
        answer = run.finder.answer() if run.finder is not None else None
        has_conversation = run.finder is None and not facts.spec.has_children
        if decision.wrap_up and run.requests.stop != "now" and has_conversation:
            answer = await wrap_up(self._ctx, decision.detail)
        if facts.spec.loop is LoopKind.CHAT and decision.reason is Reason.BUDGET:
            await self._wait_for_budget(decision.detail)
            return None
        decision, staged = await end_in_stage(self._ctx, decision)
        await self._ctx.background.end_all("the run ended", with_run=True)  # its outcome names them
        await note_at_end(self._ctx)
        return outcome_of(
            facts,
            decision,
            answer=answer,
            seconds=self._ctx.limits.uncounted(),
            journal=self._ctx.journal.path,
            failed_items=run.finder.failed_items() if run.finder is not None else (),
            evidence=evidence_of(facts, self._ctx.not_held),
            staged=staged,
        )

    async def _with_unreviewed(self, decision: Finish) -> Finish:
        """Return a hand-off instead of a success if protected files changed, and nobody decided about them."""
        if decision.reason not in _SUCCESSES:
            return decision
        ctx, events = self._ctx, self._ctx.events.bound(None, None)
        with suppress(PersonInterrupted):
            await record_background_changes(ctx, events)
        left = [] if ctx.journal.views.is_attended() else self._facts.changes.approvals.unreviewed
        if not left:
            return decision
        why = f"changed while a command ran, and nobody decided about it ({decision.reason}: {decision.detail})"
        return Finish(reason=Reason.HANDOFF, detail=f"{first_names(left, _NAMED)} {why}")

    async def _continues(self, decision: Finish) -> bool:
        """Ask the person, hand over or pause the run if the decision requires it. Return whether the run continues."""
        if decision.suspect and await ask_about_suspects(self.run):
            return True
        if decision.judged and await ask_about_judgement(self.run):
            return True
        if decision.reason is Reason.HANDOFF and await self._handoffs.hand_over(decision.detail):
            return True
        if decision.reason is Reason.ERROR and self._ctx.journal.views.is_attended():
            self.run.pauses.pause(decision.detail, by="program")
            return True
        return False

    async def _end_pass(self, decision: Finish) -> Finish | None:
        """Close the open pass. Returns a hand-off instead if a person must decide about the pass first."""
        passes, stop = self.run.passes, self.run.requests.stop
        if passes is None:
            return None
        if decision.reason in (Reason.HANDOFF, Reason.ERROR):
            await passes.tries.finish_all(decision.detail)
            return None
        result = await passes.end(judged=stop != "now", asks=stop is None)
        if result.handoff is not None and stop is None:
            return Finish(reason=Reason.HANDOFF, detail=result.handoff)
        return None if passes.facts.open is None else undecided_handoff(self.run.states.state(()))

    async def continued_after_end(self) -> bool:
        """Wait after the end while a view is attached, and resume the run if its user asks for it.

        Changed limits, a model switch, a message, a decision and a request for control resume it. Returns whether the
        run was resumed.
        """
        run, facts = self.run, self._facts
        run.requests.forget_stop()
        limits, model = (facts.budget, facts.spec), facts.model

        def asked() -> bool:
            given = bool(facts.queue) or bool(self._ctx.gate.postponed.decisions)
            return given or run.pool.is_requested or run.requests.wants_control or changed()

        def changed() -> bool:
            return (facts.budget, facts.spec) != limits or facts.model != model

        await run.waits.until(lambda: asked() or not self._ctx.journal.views.is_attended(), of_person=False)
        if run.requests.stop is not None or not asked():
            return False
        if self._ctx.stage is not None:
            await self._ctx.stage.work_on()
        notes = concurrent_runs(facts.spec, self._ctx.journal.path, self._ctx.clock.now())
        self._ctx.events.record(RunResumed(run_id=facts.spec.run_id, from_seq=facts.last_seq, notes=notes))
        if facts.handoff is not None:
            self._ctx.events.record(HandoffClosed(by=run.queue.sender or PERSON))
        return True

    async def close(self) -> None:
        """Cancel all work, and end the background processes."""
        run = self.run
        await run.pool.cancel()
        await self._ctx.background.end_all("the run ended", with_run=True)
        if run.passes is not None:
            await run.passes.tries.close()
            await run.passes.close_unit()
        if run.finder is not None:
            await run.finder.close()

    async def _wait_for_budget(self, detail: str) -> None:
        """Wait for the next message or a changed limit, in a chat whose budget is exhausted."""
        facts = self._facts
        limits = facts.budget, facts.spec
        self._ctx.events.record(Waiting(why="message", detail=detail))
        await self.run.waits.until(lambda: bool(facts.queue) or (facts.budget, facts.spec) != limits)
