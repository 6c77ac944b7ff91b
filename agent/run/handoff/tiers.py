"""Ask the tiers of a hand-off, one after the other: a person, a model, a command (docs/requirements.md 5.3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, assert_never

from ...host.processes.processes import Finished, run_process
from ...protocol import (
    PERSON,
    Fault,
    Finish,
    HandoffClosed,
    HandoffOpened,
    HandoffRecord,
    HandoffTier,
    MessageKind,
    Prompted,
    Reason,
    StallDetected,
    StallEnd,
    TierAsked,
    TierPassed,
    Waiting,
)
from ...state.common.handoff_facts import ESCALATE, TIER
from ...state.reports.handoffs import handoff_markdown
from ...state.view.show.titles import stall_name
from ...step.detect_stalls import stall_end
from ..commands.reconfigure import hand_to_model
from ..loops.shared.loop_state import stall_reason
from ..process.notify_hook import hook_env, start_notify_hook
from .handoff_record import hand_off, handoff_record

if TYPE_CHECKING:
    from ..live.live_run import LiveRun

COMMAND_SECONDS = 60.0
"""Time limit of the command of a tier, in seconds."""
_OF_HANDOVER: MessageKind = "handover"
"""Kind of the message to a model that takes over."""
_MOST_TRIED = 8


class HandoffTiers:
    """Asks the tiers of one run. Without configured tiers, the only tier is the person, while a view is attached."""

    def __init__(self, run: LiveRun, env: Mapping[str, str]) -> None:
        """`env`: the environment variables of the person, for commands."""
        self._run, self._env = run, env

    async def before_deciding(self) -> Finish | None:
        """Escalate if that is due, and return the end that an open hand-off or a tier without a response requires."""
        end = await _escalate(self._run)
        if end is not None:
            return end
        facts = self._run.facts
        if facts.handoff is not None:
            return Finish(reason=Reason.HANDOFF, detail=facts.handoff.reason)
        tier, now = facts.handoffs.tier, self._run.ctx.clock.now()
        if tier is not None and tier.until is not None and now >= tier.until:
            return Finish(reason=Reason.HANDOFF, detail=f"{tier.name} did not solve it: {facts.handoffs.reason}")
        return None

    async def hand_over(self, reason: str) -> bool:
        """Open a hand-off and ask the tiers. Returns false if no tier took over, true if the run continues or stops."""
        run = self._run
        opened = hand_off(run.facts, reason, run.ctx.journal.blobs)
        run.ctx.events.record(opened)
        tiers = run.facts.spec.tiers or [HandoffTier(kind="person")]
        for number, tier in enumerate(tiers, start=1):
            if number > run.facts.handoffs.passed and await self._ask(number, tier):
                return True
        return False

    async def _ask(self, number: int, tier: HandoffTier) -> bool:
        match tier.kind:
            case "person":
                return await self._ask_person(number, tier)
            case "model":
                return await self._ask_model(number, tier)
            case "command":
                return await self._ask_command(number, tier)
            case _:
                assert_never(tier.kind)

    async def _ask_person(self, number: int, tier: HandoffTier) -> bool:
        run, ctx = self._run, self._run.ctx
        is_called = run.facts.spec.attended and run.facts.spec.notify is not None
        if not ctx.journal.views.is_attended() and not is_called:
            self._pass(number, "no view is attached")
            return False
        until = self._asked(number, tier)
        if is_called and not ctx.journal.views.is_attended():
            self._call(run.facts.spec.notify or "")
        ctx.events.record(Waiting(why="handoff"))
        if await self._taken_within(until, lambda: not ctx.journal.views.is_attended() and not is_called):
            return True
        self._pass(number, "no response" if ctx.journal.views.is_attended() or is_called else "the view was closed")
        return False

    async def _ask_model(self, number: int, tier: HandoffTier) -> bool:
        run, ctx = self._run, self._run.ctx
        spec, opened, before = tier.model, run.facts.handoff, ctx.models.current.name
        assert spec is not None and opened is not None  # a tier of that kind has one, and a hand-off is open
        if run.facts.main.unanswered():
            self._pass(number, "only a person can decide on a proposal")
            return False
        self._asked(number, tier)
        why = await hand_to_model(run, spec, by=TIER)
        if why is not None:
            self._pass(number, why)
            return False
        ctx.events.record(HandoffClosed(by=spec.name))
        ctx.events.record(Prompted(kind=_OF_HANDOVER, text=_handover(before, opened.reason, opened.record)))
        return True

    async def _ask_command(self, number: int, tier: HandoffTier) -> bool:
        run, opened, line = self._run, self._run.facts.handoff, tier.run
        assert line is not None and opened is not None  # a tier of that kind has one, and a hand-off is open
        asked = run.facts.handoffs.tier
        if asked is None or asked.number != number:  # otherwise an earlier runner ran the command already
            done = await self._notify(line, opened)
            if done is None:
                return True
            if done.exit_code != 0:
                self._pass(number, _failure(line, done))
                return False
        until = self._asked(number, tier)
        if tier.after and await self._taken_within(until, lambda: False):
            return True
        self._pass(number, "notified, no response" if tier.after else "notified")
        return False

    async def _notify(self, line: str, opened: HandoffOpened) -> Finished | None:
        """Run the command of a tier. Returns None if someone took over or a stop was requested meanwhile."""
        ctx, facts = self._run.ctx, self._run.facts
        text = handoff_markdown(opened, run_id=facts.spec.run_id, journal=str(ctx.journal.path))
        about = {f"RUNDRY_{name.upper()}": value for name, value in self._about("handoff").items()}
        env = {**hook_env(self._env, ctx.workspace.seen), **about}
        telling = asyncio.ensure_future(
            run_process(line, cwd=ctx.workspace.seen, env=env, timeout=COMMAND_SECONDS, stdin=text.encode())
        )
        telling.add_done_callback(lambda _: ctx.activity.wake())
        try:
            await ctx.activity.until(lambda: telling.done() or self._is_taken())
            return None if self._take() else await telling
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)

    async def _taken_within(self, until: float | None, given_up: Callable[[], bool]) -> bool:
        """Wait until a person takes over or stops the run, and return whether one did.

        `until`: Unix seconds. None means no time limit. `given_up`: also end the wait when this returns true.
        """
        run, clock = self._run, self._run.ctx.clock

        def is_over() -> bool:
            return self._is_taken() or given_up() or run.ctx.limits.deadline_passed()

        with run.waits.for_person(only=until is None):
            if until is None:
                await run.ctx.activity.until(is_over)
            else:
                with run.waits.timer(max(0.0, until - clock.now())) as timer:
                    await run.ctx.activity.until(lambda: is_over() or timer.done())
        return self._take()

    def _is_taken(self) -> bool:
        run = self._run
        return (
            run.requests.stop is not None
            or run.requests.wants_control
            or bool(run.facts.queue)
            or run.facts.handoff is None
        )

    def _take(self) -> bool:
        """Return whether someone took over or stopped the run. A queued message closes the hand-off."""
        run = self._run
        if run.facts.queue and run.facts.handoff is not None:
            run.ctx.events.record(HandoffClosed(by=run.queue.sender or PERSON))
        return run.requests.stop is not None or run.requests.wants_control or run.facts.handoff is None

    def _asked(self, number: int, tier: HandoffTier) -> float | None:
        """Record that the tier was asked, and return its deadline in Unix seconds, or None.

        After a restart, the deadline stays the same.
        """
        known = self._run.facts.handoffs.tier
        if not self._run.facts.spec.tiers:
            return None
        until = None if tier.after is None else self._run.ctx.clock.now() + tier.after
        if known is not None and known.number == number:  # the clock may have been set back
            until = known.until if known.until is None or until is None else min(known.until, until)
        self._run.ctx.events.record(TierAsked(number=number, kind=tier.kind, name=tier.name, until=until))
        return until

    def _pass(self, number: int, why: str) -> None:
        if self._run.facts.spec.tiers:
            self._run.ctx.events.record(TierPassed(number=number, why=why))

    def _call(self, command: str) -> None:
        start_notify_hook(command, env=self._env, about=self._about("handoff"), workspace=self._run.ctx.workspace.seen)

    def _about(self, why: str) -> dict[str, str]:
        facts, journal = self._run.facts, self._run.ctx.journal
        reason = facts.handoff.reason if facts.handoff is not None else ""
        return {"why": why, "run": facts.spec.run_id, "journal": str(journal.path), "reason": reason}


def _failure(line: str, done: Finished) -> str:
    how = done.error or ("timed out" if done.timed_out else f"exit code {done.exit_code}")
    said = done.output.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
    return f"`{line}`: {how}" + (f": {said}" if said else "")


async def _escalate(run: LiveRun) -> Finish | None:
    """Switch to the stronger model, once per run, if the hint after a stall did not help.

    Returns None, or the end of the run if that model cannot take over.
    """
    stall, spec = run.facts.stall, run.facts.spec.escalate
    if stall is None or stall.response != ESCALATE or spec is None:
        return None
    before = run.ctx.models.current.name
    record = handoff_record(run.facts, "", run.ctx.journal.blobs)
    why = await hand_to_model(run, spec, by=ESCALATE)
    if why is not None:
        run.ctx.events.record(Fault(kind=ESCALATE, text=f"{spec.name} cannot take over: {why}"))
        return _end_after_stall(stall, stall_end(run.ctx))
    reason = f"{stall_name(stall.kind)}: {stall.signature}"
    run.ctx.events.record(Prompted(kind=_OF_HANDOVER, text=_handover(before, reason, record)))
    return None


def _handover(before: str, reason: str, record: HandoffRecord) -> str:
    """Return the message to a model that takes over from model `before`."""
    tried = [f"- {t.what}{f' ({t.times} times)' if t.times > 1 else ''}: {t.why}" for t in record.tried[-_MOST_TRIED:]]
    lines = [
        f"You take over from another model ({before}), which could not continue: {reason}.",
        "Everything above is its work, not yours: look at the files before you trust it.",
    ]
    if tried:
        lines += ["What was tried and did not help:", *tried]
    return "\n".join([*lines, "Take a different approach."])


def _end_after_stall(stall: StallDetected, response: StallEnd) -> Finish:
    reason = Reason.HANDOFF if response == "handoff" else stall_reason(stall.kind)
    return Finish(reason=reason, detail=f"{stall_name(stall.kind)}: {stall.signature}")
