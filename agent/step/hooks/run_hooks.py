"""Run hooks one after the other, in the sandbox of commands, and record what each of them said.

A hook can refuse, and add context for the model: its result never approves anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from ...host.files.git_patterns import git_spec
from ...host.terminal_text import plain
from ...layers.remedies import LayerRefused
from ...protocol import REFUSES, ConfigError, Hook, HookRan, HookResult
from ...protocol.text.shorten_text import end_cut, last_line, middle_cut
from ...sandbox.command_access import Access, programs_of_user
from ...settings.hook_scripts import script_is_trusted
from ..tool_calls.direct_changes import look_before, reach_of, record_changes
from ..tool_calls.effects_at_gate import accept_effects
from ..tool_calls.protected_changes import leave_protected
from .hook_input import HookEvent, hook_input
from .hook_output import KEPT_OUTPUT, read_output

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from ...host.processes.processes import Finished
    from ...layers.run_layers import RunLayers
    from ...state.recorder import Events
    from ..resources.run_context import RunContext

LONGEST_REASON = 2_000
"""Characters of what a hook printed on standard error."""
_LONGEST_LINE = 300
_HOLD = ("bubblewrap", "landlock")


class _Verdict(msgspec.Struct, frozen=True):
    """What a hook that ended means."""

    result: HookResult
    reason: str = ""
    exit_code: int | None = None
    error_line: str = ""
    context: str = ""
    notice: str = ""


def fitting(hooks: Sequence[Hook], event: HookEvent) -> list[Hook]:
    """Return the hooks that run on this event. A call without a path matches any glob."""
    return [
        hook
        for hook in hooks
        if hook.on == event.on
        and (not hook.tool or event.tool in hook.tool)
        and (not hook.path or not event.path or _globs(tuple(hook.path)).match_file(event.path))
    ]


async def run_hooks(ctx: RunContext, event: HookEvent, events: Events) -> list[HookRan]:
    """Run the hooks of this event until one refuses, and return what they said. Raises PersonInterrupted.

    Before a tool call, one that fails ends this, too.
    """
    ran: list[HookRan] = []
    for hook in fitting(ctx.facts.spec.hooks, event):
        async with ctx.hook_lock:
            with ctx.limits.running():
                done = await ctx.activity.interruptible(_run(ctx, hook, event, events))
        events.record(done)
        ran.append(done)
        if done.result == "refused" or (done.result == "failed" and event.on == "before-tool"):
            break
    return ran


def says(ran: HookRan) -> str:
    """Return the hook and what it said, for the model and the person."""
    verb = "refused" if ran.result == "refused" else "failed"
    return f"the hook `{ran.command}` {verb}: {ran.reason or 'it gave no reason'}"


async def _run(ctx: RunContext, hook: Hook, event: HookEvent, events: Events) -> HookRan:
    root = ctx.workspace.root
    if why := _changed_script(hook, root, Path(ctx.facts.spec.home)):
        return _ran(hook, event, _Verdict("failed", why), 0.0)
    may_write = event.on == "after-edit"
    if ctx.layers is not None and (may_write or ctx.sandbox.kind == "landlock"):  # it does not keep times and modes
        return await _run_in_layer(ctx, ctx.layers, hook, event, events, may_write=may_write)
    compares = may_write or ctx.sandbox.kind not in _HOLD  # these keep the workspace read-only
    before = await look_before(ctx, events) if compares else None
    access = Access(keeps_workspace=not may_write)
    done = await _started(ctx, hook, event, access)
    if before is not None:
        changed = await record_changes(ctx, before, hook.command, events, reach=await reach_of(ctx))
        await leave_protected(ctx, events, changed)
    return _ran(hook, event, _verdict(done, hook), done.seconds)


async def _run_in_layer(
    ctx: RunContext, layers: RunLayers, hook: Hook, event: HookEvent, events: Events, *, may_write: bool
) -> HookRan:
    """Run a hook in a layer. If it may change files, apply what nobody has to decide about."""
    try:
        layer = await asyncio.to_thread(layers.open)
    except LayerRefused as refused:
        return _ran(hook, event, _Verdict("failed", f"it was not started: {refused}"), 0.0)
    watch = None
    try:
        watch = layer.watch()
        access = Access(layer=replace(layer.access, begin=watch.begin), keeps_workspace=not may_write)
        done = await _started(ctx, hook, event, access)
        watch.end()
        ended = watch.reached or ("it timed out" if done.timed_out else "")
        lines = list[str]()
        if may_write:
            outcome = await accept_effects(ctx, layers, layer, hook.command, events, ended=ended, asks=False)
            lines = outcome.lines
    finally:
        if watch is not None:
            watch.end()
        await asyncio.to_thread(layer.drop)
    found = _verdict(done, hook)
    reason = "\n".join([*([found.reason] if found.reason else []), *lines])
    return _ran(hook, event, replace(found, reason=reason), done.seconds)


async def _started(ctx: RunContext, hook: Hook, event: HookEvent, access: Access) -> Finished:
    root = ctx.workspace.root
    return await ctx.sandbox.run(
        hook.command,
        root,
        replace(access, readable=programs_of_user(hook.command, ctx.workspace.seen)),
        cwd=root,
        env={**ctx.env, "RUNDRY_HOOK": hook.on},
        timeout=ctx.tools.bounded_seconds(hook.timeout),
        stdin=hook_input(ctx, event),
        separate_errors=True,
        limit=KEPT_OUTPUT,
        keep=KEPT_OUTPUT,
    )


def _changed_script(hook: Hook, root: Path, home: Path) -> str:
    """Return why the hook does not run, or an empty text."""
    try:
        changed = [path for path in hook.scripts if not script_is_trusted(hook, path, root, home)]
    except ConfigError as error:
        return str(error)
    return f"its script {changed[0]} is not as the person trusted it (/trust trusts it)" if changed else ""


def _verdict(done: Finished, hook: Hook) -> _Verdict:
    code, said = done.exit_code, plain(done.errors).strip()
    line = last_line(said, _LONGEST_LINE)
    if done.timed_out:
        return _Verdict("failed", f"it timed out after {hook.timeout:g} s", error_line=line)
    if code is None:
        return _Verdict("failed", f"it did not start: {done.error}")
    if code not in (0, REFUSES):
        said = middle_cut(said, LONGEST_REASON)  # the last line of a traceback says what is wrong
        return _Verdict("failed", f"exit code {code}{f': {said}' if said else ''}", code, line)
    asked = read_output(done.output, hook.on, dropped=done.dropped)
    if code == REFUSES:
        reason = end_cut(said or asked.refusal or "", LONGEST_REASON)
        return _Verdict("refused", reason, code, line, notice=asked.notice)
    if asked.wrong:
        return _Verdict("failed", f"its JSON cannot be obeyed: {asked.wrong}", code, line)
    if asked.refusal is not None:
        return _Verdict("refused", end_cut(asked.refusal, LONGEST_REASON), code, line, notice=asked.notice)
    return _Verdict("passed", "", code, context=asked.context, notice=asked.notice)


def _ran(hook: Hook, event: HookEvent, found: _Verdict, seconds: float) -> HookRan:
    return HookRan(
        on=hook.on,
        command=hook.command,
        result=found.result,
        reason=found.reason,
        exit_code=found.exit_code,
        error_line=found.error_line,
        context=found.context,
        notice=found.notice,
        seconds=seconds,
        tool=event.tool,
        call_id=event.call_id,
        path=event.path,
    )


@lru_cache(maxsize=64)
def _globs(globs: tuple[str, ...]) -> GitIgnoreSpec:
    return git_spec([glob.lstrip("!") for glob in globs])
