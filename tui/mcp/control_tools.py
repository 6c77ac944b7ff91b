"""The tools that control a run: messages, stop, pause, resume and, if the command line allows it, decisions.

Clients read the docstrings of the tools, and the schemas follow from their annotations (`Tool.of`).
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from rundry.agent import (
    Answer,
    Decide,
    Journal,
    Pause,
    ProposalOpened,
    ResumeChanges,
    Say,
    Stop,
    Unpause,
    UserError,
    ViewState,
    holder,
    refresh_proposals,
)

from ..control.asked_proposal import what_of
from ..control.own_runs import OwnRuns
from ..control.picked_answer import picked_option
from ..control.remote_decisions import resume_with_decision, send_command
from ..text.show_text import one_line
from .allowed_runs import Allowed
from .client_runs import limits_of, require_limits
from .mcp_access import open_run, require_control
from .mcp_arguments import Approve, PauseRun, Reject, ResumeRun, SendMessage, StopRun
from .mcp_results import Done
from .mcp_text import given
from .read_tools import Follower
from .tools import Call

LEFT_SECONDS = 6.0
"""Seconds within which the process of an ended run exits once no view shows it."""
_LOOK_SECONDS = 0.05


class Control:
    """The tools that control a run. Every command names the client."""

    def __init__(self, allowed: Allowed, own: OwnRuns) -> None:
        self._allowed, self._own = allowed, own
        self._locks: dict[str, asyncio.Lock] = {}

    async def send_message(self, asked: SendMessage, call: Call) -> Done:
        """Send a message to the model of a live run, or answer the question that it asked."""
        text = given(asked.text)
        async with self._controlled(asked.run) as followed:
            question = followed.state.question
            _require_live(followed, "resume_run takes a message")
            if question is not None:
                answer = picked_option(question, text)
                await send_command(followed.journal, Answer(question_id=question.question_id, text=answer, by=call.by))
                return Done(run=asked.run, done="answered the question of the model")
            await send_command(followed.journal, Say(text=text, by=call.by))
        return Done(run=asked.run, done="queued the message: the model reads it after this step")

    async def stop_run(self, asked: StopRun, call: Call) -> Done:
        """Stop a live run."""
        async with self._controlled(asked.run, only_to_stop=True) as followed:
            _require_live(followed, "there is nothing to stop")
            await send_command(followed.journal, Stop(how="now" if asked.now else "wrap_up", by=call.by))
        return Done(run=asked.run, done="stopped" if asked.now else "stops after a last summary")

    async def pause_run(self, asked: PauseRun, call: Call) -> Done:
        """Pause a live run after its step."""
        async with self._controlled(asked.run, only_to_stop=True) as followed:
            _require_live(followed, "there is nothing to pause")
            await send_command(followed.journal, Pause(by=call.by))
        return Done(run=asked.run, done="pauses after this step")

    async def resume_run(self, asked: ResumeRun, call: Call) -> Done:
        """Continue a run that pauses, ended or lost its process, with a message or other limits if you want."""
        message = given(asked.message) if asked.message is not None else None
        limits = limits_of(self._allowed, asked)
        async with self._controlled(asked.run) as followed:
            if not await self._is_driven(followed):
                require_limits(self._allowed, followed.state, limits)
                changes = ResumeChanges(limits=limits, hint=message or None, by=call.by)
                await self._own.resume(followed.journal, changes)
                return Done(run=asked.run, done="resumed")
            if limits:
                raise UserError("the limits of a live run are changed by a person, or when it is resumed after its end")
            command = Say(text=message, by=call.by) if message else Unpause(by=call.by)
            await send_command(followed.journal, command)
        return Done(run=asked.run, done="continues")

    async def _is_driven(self, followed: Follower) -> bool:
        """Return whether a process holds the run. One that stays after the end because of this server exits first."""
        path, began = followed.journal.path, time.monotonic()
        if followed.state.outcome is not None:
            await self._own.leave(followed.journal.spec.run_id)
            # the lock is of another process, which tells nobody when it exits
            while holder(path) is not None and time.monotonic() - began < LEFT_SECONDS:  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_SECONDS)
        return holder(path) is not None

    async def approve(self, asked: Approve, call: Call) -> Done:
        """Approve exactly the change, command or call that this digest names.

        Read all of it first. The journal names you, not a person. Guarded files need a person.
        """
        return await self._decide(asked.run, Decide(proposal_id="", digest=asked.digest, verdict="approve", by=call.by))

    async def reject(self, asked: Reject, call: Call) -> Done:
        """Reject the proposal that this digest names, with a reason."""
        reason = given(asked.reason) or None
        command = Decide(proposal_id="", digest=asked.digest, verdict="reject", reason=reason, by=call.by)
        return await self._decide(asked.run, command)

    async def _decide(self, run: str, wanted: Decide) -> Done:
        """Decide on a proposal of a live run, or resume the run with the decision."""
        async with self._controlled(run) as followed:
            is_live = await self._is_driven(followed)
            if not is_live:
                _open(followed.state, wanted)  # the digest must be of a proposal that was shown
                await asyncio.to_thread(refresh_proposals, followed.journal.path)
                followed.read()
            opened = _open(followed.state, wanted)
            command = Decide(
                proposal_id=opened.proposal_id,
                digest=wanted.digest,
                verdict=wanted.verdict,
                reason=wanted.reason,
                by=wanted.by,
            )
            if is_live:
                await send_command(followed.journal, command)
            else:
                require_limits(self._allowed, followed.state, {})
                await resume_with_decision(self._own, followed.journal, command)
        return Done(run=run, done=f"{'approved' if wanted.verdict == 'approve' else 'rejected'} {what_of(opened)}")

    @asynccontextmanager
    async def _controlled(self, run: str, *, only_to_stop: bool = False) -> AsyncGenerator[Follower]:
        """Open a run that the client may control, with its present state. Raises UserError.

        Calls about one run wait for each other, except those that stop it.
        """
        journal: Journal = open_run(self._allowed, run)
        lock = asyncio.Lock() if only_to_stop else self._locks.setdefault(journal.spec.run_id, asyncio.Lock())
        try:
            async with lock:
                followed = await asyncio.to_thread(Follower, journal)
                require_control(self._allowed, journal, followed.state, only_to_stop=only_to_stop)
                yield followed
        finally:
            journal.close()


def _open(state: ViewState, wanted: Decide) -> ProposalOpened:
    """Return the waiting proposal with this digest. Raises UserError if there is none, or only a person can approve."""
    requests = state.common.requests
    found = next((opened for opened in state.proposals.values() if opened.digest == wanted.digest), None)
    if found is None:
        raise UserError("no proposal with this digest waits: it was decided or rebased; read the run again")
    if wanted.verdict != "approve":
        return found
    if requests.conflict_of(found.proposal_id) is not None:
        raise UserError(f"{what_of(found)} is in conflict with its file: reject it, or let a person merge it")
    if found.danger:
        why = one_line("; ".join(found.asks))[:300]
        raise UserError(f"only a person can approve {what_of(found)}: {why}")
    return found


def _require_live(followed: Follower, instead: str) -> None:
    if followed.state.outcome is not None or holder(followed.journal.path) is None:
        raise UserError(f"{followed.journal.spec.run_id} does not run ({followed.status}): {instead}")
