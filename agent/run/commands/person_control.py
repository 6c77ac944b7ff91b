"""Manual control: the person works with the tools of the model, which is then informed (docs/requirements.md 5.4)."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...budget.time_limits import FixedTime
from ...gate.draft import CommandDraft, FileDraft
from ...protocol import (
    Act,
    FileChanged,
    HandoffClosed,
    LoopKind,
    RundryError,
    ToolCall,
    ToolCalled,
    ToolFinished,
)
from ...protocol.tools.traits import TOOL_TRAITS
from ...sandbox.command_access import Access
from ...step.checks.verify import verify
from ...step.resources.activity import PersonInterrupted
from ...step.tool_calls.direct_changes import look_before, record_changes
from ...step.tool_calls.file_events import missing_folders
from ...tools.carry_out import carry_out, draft_of, run_reading_tool
from ...tools.parse import parse_arguments
from ...tools.tool_result import ToolResult
from ..loops.shared.loop_state import met
from .control_report import end_control

if TYPE_CHECKING:
    from ...host.workspace_paths import Workspace
    from ...sandbox.sandbox import Sandbox
    from ..live.live_run import LiveRun

BETWEEN_PASSES = "no pass is open, so the next pass could not start from a clean tree: wait until it begins"
USABLE = tuple(name for name, tool in TOOL_TRAITS.items() if tool.for_person)


async def take_control(run: LiveRun) -> str | None:
    """Interrupt the running work and give control to the person. Returns None, or why that is not possible."""
    ctx = run.ctx
    if (why := _why_not(run)) is not None:
        return why
    if run.facts.handoff is not None and run.facts.ended is None:
        ctx.events.record(HandoffClosed(by="person", note="they took control"))
    run.requests.ask_for_control()
    await ctx.activity.until(lambda: run.is_user_in_control or not run.requests.wants_control)
    if run.is_user_in_control:
        return None
    return "the run ended first" if run.passes is None or run.requests.stop is not None else BETWEEN_PASSES


def _why_not(run: LiveRun) -> str | None:
    if run.finder is not None:
        return f"you cannot take control of {run.facts.spec.loop.a_run}: pause or stop it to work in its folder"
    if run.is_user_in_control:
        return "a person is already in control"
    if not run.can_take_control:
        return BETWEEN_PASSES
    return None


async def return_control(run: LiveRun, note: str) -> str | None:
    """Return control to the model. Returns None, or why that is not possible."""
    if not run.is_user_in_control:
        return "you are not in control"
    if run.ctx.activity.is_running:
        return "your last action still runs: interrupt it first"
    async with run.files_lock.held("a return of control"):
        await end_control(run.ctx, note, by="person")
    run.pauses.unpause()
    run.ctx.activity.wake()
    return None


async def act(run: LiveRun, command: Act) -> str | None:
    """Run one of the model's tools for the person. Returns None, even if the tool failed, or why it was refused."""
    if not run.is_user_in_control:
        return "you are not in control: /control takes it"
    if command.tool not in USABLE:
        return f"{command.tool} cannot be used in manual control: use {', '.join(USABLE)}"
    if command.tool == "finish" and run.facts.spec.loop is not LoopKind.GOAL:
        return f"{run.facts.spec.loop.a_run} has no `finish`: /control returns control"
    if run.ctx.activity.is_running:
        return "your last action still runs: interrupt it first"
    async with run.files_lock.held("an action of yours"):
        with run.ctx.activity.in_progress():
            return await _UserAction(run).use(command)


class _UserAction:
    """One action of the person in manual control."""

    def __init__(self, run: LiveRun) -> None:
        self._run, self._ctx = run, run.ctx
        self._events = run.ctx.events.bound(None, None)
        self._tools = copy.copy(run.ctx.tools)
        seconds = run.facts.spec.command_timeout
        self._tools.time_limits = FixedTime(command_seconds=seconds)  # the person's time does not count for the budget
        self._tools.contents = None

    async def use(self, command: Act) -> str | None:
        """Carry out the action and record it. Returns None, or why its arguments are invalid."""
        parsed = parse_arguments(command.tool, json.dumps(command.arguments), USABLE)
        if parsed.error is not None:
            return parsed.error
        call = ToolCall(f"hand_{self._ctx.facts.manual.used + 1}", command.tool, json.dumps(command.arguments))
        self._events.record(
            ToolCalled(call_id=call.call_id, tool=call.tool, arguments=parsed.raw or command.arguments, by="person")
        )
        before = self._ctx.clock.monotonic()
        try:
            result = await self._do(call, parsed.arguments, command)
        except PersonInterrupted:
            result = ToolResult(ok=False, text="interrupted: it may have been done in part", summary="interrupted")
        except RundryError as error:
            result = ToolResult(ok=False, text=str(error), summary="failed")
        self._events.record(
            ToolFinished(
                call_id=call.call_id,
                tool=call.tool,
                ok=result.ok,
                result=result.text,
                seconds=self._ctx.clock.monotonic() - before,
                full=result.full,
                summary=result.summary or None,
                by="person",
            )
        )
        if command.tool == "finish":
            await self._check_predicates()
        return None

    async def _do(self, call: ToolCall, arguments: Any, command: Act) -> ToolResult:  # noqa: ANN401 - a tool's own struct
        match TOOL_TRAITS[call.tool].effect:
            case "read":
                return await self._ctx.activity.interruptible(run_reading_tool(call.tool, arguments, self._tools))
            case "finish":
                checked = " The check decides." if self._ctx.facts.spec.predicates.exist else ""
                return ToolResult(ok=True, text=f"finish accepted.{checked}", summary="accepted")
            case _:
                return await self._change(call, arguments, command.expects)

    async def _change(self, call: ToolCall, arguments: Any, expects: str | None) -> ToolResult:  # noqa: ANN401
        """Apply a change or run a command, without asking: the person who requests it approves it."""
        ctx = self._ctx
        draft = draft_of(call.tool, arguments, self._tools)
        if isinstance(draft, ToolResult):
            return draft
        if isinstance(draft, FileDraft) and expects is not None and (draft.before.sha256 or "") != expects:
            text = f"{draft.path} changed on disk while you edited it, so nothing was written: edit it again"
            return ToolResult(ok=False, text=text, summary="changed meanwhile")
        ruling = ctx.gate.record_person_action(draft, call_id=call.call_id, events=self._events)
        if isinstance(draft, CommandDraft):
            before = await look_before(ctx, self._events)
            try:
                result = await ctx.activity.interruptible(carry_out(draft, ruling, self._tools))
                return result.with_notes(_refused(ctx.workspace, ctx.sandbox, draft, result))
            finally:
                ctx.files.mark_changed()
                await record_changes(ctx, before, draft.command, self._events)
        folders = missing_folders(ctx.workspace.root, draft.path) if isinstance(draft, FileDraft) else None
        result = await ctx.activity.interruptible(carry_out(draft, ruling, self._tools))
        for change in result.files:
            ctx.files.mark_changed()
            self._events.record(
                FileChanged(
                    path=change.path,
                    by="person",
                    before=change.before,
                    after=change.after,
                    added=change.added,
                    removed=change.removed,
                    folders=folders,
                )
            )
        return result

    async def _check_predicates(self) -> None:
        """After the person's `finish`, end manual control if the predicates hold, so that the run ends."""
        run = self._run
        ctx = self._ctx
        if run.facts.spec.predicates.exist:
            await ctx.fingerprint.refresh()
            try:
                await verify(ctx, self._events, claim=True, baseline=True)
            except PersonInterrupted:
                return
            if met(run.states.state(())) is None:
                return
        await end_control(ctx, "", by="person", finished=True)


def _refused(workspace: Workspace, sandbox: Sandbox, draft: CommandDraft, result: ToolResult) -> Sequence[str]:
    """Return a line about what the sandbox refused to the command, and how to run the command without it."""
    done = result.finished
    if done is None or not done.exit_code:
        return []
    need = sandbox.refused(done, workspace.root, Access(network=draft.network, writable=draft.writable))
    return [] if need is None else [f"The sandbox refused: {need.what}. `!cmd` runs a command without it."]


def digest_on_disk(data: bytes | None) -> str:
    """Return the SHA-256 of a file for `Act.expects`; empty if the file does not exist."""
    return "" if data is None else hashlib.sha256(data).hexdigest()
