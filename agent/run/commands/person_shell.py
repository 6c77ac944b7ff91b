"""Shell commands of the user, without a gate. The output of `!cmd` is sent to the model, that of `!!cmd` is not."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ...host.processes.command_output import HeadTail
from ...host.processes.processes import Finished, run_process
from ...journal.encoding import recorded_text
from ...protocol import SHELL_CALL, Prompted, Shell, ShellFinished, ShellStarted
from ...step.resources.changes_since import changes_since, moment_of_workspace
from ...step.resources.last_line import output_reported
from ...verdict.checks.run_check import head_and_tail

if TYPE_CHECKING:
    from ...step.resources.changes_since import Moment
    from ..live.live_run import LiveRun

SECONDS = 600.0
"""Time limit of a shell command of the user, in seconds."""
_SHOWN = 8_000
"""Maximum number of characters of its output that are shown and sent to the model."""
_KEPT = 1_000_000
"""Maximum number of bytes of its output that the journal keeps."""


async def run_for_person(run: LiveRun, command_id: int, command: Shell) -> str | None:
    """Run a command of the user in the workspace, without a sandbox. Returns None, or why it was refused.

    Its output is sent to the model between two steps. Its changes count as the user's, so no undo reverts them.
    """
    if not command.command.strip():
        return "the command is empty"
    ctx = run.ctx
    before, known = await moment_of_workspace(ctx.workspace, ctx.facts.changes.files), dict(ctx.facts.changes.files)
    ctx.events.record(ShellStarted(shell_id=command_id, command=command.command, told=command.tell))
    kept = HeadTail(_KEPT)
    began = ctx.clock.monotonic()
    done: Finished | None = None
    how = "ended with the run"
    try:
        done = await _until_ended(_started(run, command_id, command, kept), run.shells)
        how = "interrupted" if done is None else _how(done)
    finally:
        ctx.files.mark_changed()
        text = kept.value().decode("utf-8", "replace").rstrip()
        output = head_and_tail(text, _SHOWN)
        ctx.events.record(
            ShellFinished(
                shell_id=command_id,
                how=how,
                ok=done is not None and done.exit_code == 0,
                output=output,
                seconds=ctx.clock.monotonic() - began,
                full=ctx.journal.blobs.keep(kept.value()) if output != text else None,
                files=await _files(run, before, known),
            )
        )
        if command.tell:
            said = f"The person ran `{command.command}` ({how}):\n{output or '(no output)'}"
            run.messages.send(Prompted(kind="shell", text=said))
    return None


def _started(run: LiveRun, command_id: int, command: Shell, kept: HeadTail) -> asyncio.Task[Finished]:
    """Start the command. Its newest line of output is recorded while it runs."""
    ctx = run.ctx

    async def work() -> Finished:
        with output_reported(ctx.events.bound(None, None), command.command, f"{SHELL_CALL}{command_id}") as report:

            def on_output(piece: bytes) -> None:
                kept.add(piece)
                report(piece)

            return await run_process(
                command.command, cwd=ctx.workspace.seen, env=ctx.env, timeout=SECONDS, on_output=on_output
            )

    return asyncio.ensure_future(work())


async def _until_ended(running: asyncio.Task[Finished], shells: set[asyncio.Task[Finished]]) -> Finished | None:
    """Return the result of the command, or None if it was interrupted. Meanwhile the command is in `shells`."""
    shells.add(running)
    try:
        await asyncio.wait({running})
        return None if running.cancelled() else running.result()
    except asyncio.CancelledError:
        running.cancel()
        await asyncio.wait({running})
        raise
    finally:
        shells.discard(running)


def interrupt_shells(shells: set[asyncio.Task[Finished]]) -> bool:
    """End the running shell commands of the user. Returns whether there were any."""
    for running in shells:
        running.cancel()
    return bool(shells)


def _how(done: Finished) -> str:
    return done.error or ("timed out" if done.timed_out else f"exit code {done.exit_code}")


async def _files(run: LiveRun, before: Moment | None, known: dict[str, tuple[str | None, str | None]]) -> list[str]:
    """Return the files that changed during the command, except those that the run's tools changed.

    A change that a command of the model makes at the same time counts as the user's, because nothing on disk shows
    who made it.
    """
    ctx = run.ctx
    files, mine = ctx.facts.changes.files, list[str]()
    for change in await changes_since(before) or ():
        path = recorded_text(change.path)
        if files.get(path) == known.get(path):
            mine.append(path)
            ctx.files.person_made[path] = None if change.after is None else change.after.digest
    return mine
