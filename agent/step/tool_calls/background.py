"""Run background commands: start, report and suspend them, read their output, and end them with the run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...host.processes.command_output import HeadTail
from ...host.processes.write_hold import WriteHold
from ...protocol import BackgroundEnded, BackgroundSaid, BackgroundStarted, Clock, Prompted
from ...sandbox.command_access import Access
from ...sandbox.sandbox import Sandbox
from ...state.facts.unrecorded import EVERYWHERE
from ...tools.tool_result import ToolResult
from ..resources.live_places import live_line, live_places
from .direct_look import WHOLE, Before, look

if TYPE_CHECKING:
    from ...gate.draft import CommandDraft
    from ...host.processes.process_tree import ProcessTree
    from ...host.processes.processes import Finished
    from ...journal.journal import Journal
    from ...state.recorder import Events
    from ..resources.program_messages import ProgramMessages
    from ..resources.run_tree_files import Tree

KEPT = 1_000_000
"""Bytes of output that are kept of each command, from its beginning and its end."""
EARLY_END_SECONDS = 0.5
"""Seconds. A command that ends sooner counts as failed to start, and its end is the result of the call."""
_FIRST_PAUSE, _PAUSE_FACTOR, _LONGEST_PAUSE = 0.2, 1.5, 30.0
"""Seconds between two reports of the last line: the first pause, the factor that increases it, the longest pause."""
_LINE = 200
_LAST_LINES = 20
ONLY_IN_UNIT = "The command was not started: what it changes must stay apart, so it cannot run outside of the sandbox."


class Job:
    """One background command, also after its end."""

    def __init__(self, name: str, command: str, began: float, events: Events) -> None:
        self.name, self.command, self.began = name, command, began
        self.output = HeadTail(KEPT)
        self.ended_by = ""
        """How the command was ended, in words; empty if it ended by itself."""
        self.has_network = False
        """Whether it uses the network of this machine."""
        self.end: BackgroundEnded | None = None
        """Set when it has ended."""
        self.shown = self.shown_before = 0
        """Bytes of its output that the model got, now and before its newest answer."""
        self.is_awaited = False
        """Whether the model waits for it, so that it gets no message about the end."""
        self.message: Prompted | None = None
        """The message to the model about its end."""
        self.task: asyncio.Task[Finished]
        self.processes: ProcessTree | None = None
        """Its processes."""
        self._events, self._reported, self._pause = events, "", _FIRST_PAUSE
        self._timer: asyncio.TimerHandle | None = None

    def feed(self, piece: bytes) -> None:
        """Add bytes of the command's output."""
        self.output.add(piece)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._pause, self._report_last_line)

    def started(self, processes: ProcessTree) -> None:
        """Store the processes of the command."""
        self.processes = processes

    def stop_reports(self) -> None:
        """Stop reporting the command's output."""
        if self._timer is not None:
            self._timer.cancel()

    def last_lines(self, count: int) -> list[str]:
        """Return the newest lines that are not empty."""
        text = self.output.value()[-_LINE * 4 * count :].decode("utf-8", "replace")
        return [line[:_LINE] for line in text.splitlines() if line.strip()][-count:]

    def _report_last_line(self) -> None:
        self._timer = None
        self._pause = min(self._pause * _PAUSE_FACTOR, _LONGEST_PAUSE)
        last = self.last_lines(1)
        if last and last[0] != self._reported:
            self._reported = last[0]
            self._events.record(BackgroundSaid(name=self.name, line=last[0]))


class Background:
    """The background commands of one run."""

    def __init__(
        self,
        tree: Tree,
        journal: Journal,
        clock: Clock,
        *,
        live: Sequence[str] = (),
        events: Events,
        messages: ProgramMessages | None = None,
    ) -> None:
        """`live`: folders of the workspace that the user lets these commands write.

        `messages`: get a message if a command ends by itself. None means that it is recorded immediately.
        """
        self._tree, self._live = tree, live
        self._journal, self._clock = journal, clock
        self._events, self._messages = events, messages
        self._jobs: dict[str, Job] = {}
        self._ended: dict[str, Job] = {}
        self.seen: Before | None = None
        """What these commands can change, up to which each change has a known author. None means nothing."""
        self._holds: list[tuple[str, WriteHold]] = []
        self._held = 0
        """Number of checks that run now."""
        self._holding = asyncio.Lock()

    def names(self) -> Sequence[str]:
        """Return the names of the running commands."""
        return list(self._jobs)

    def output(self, name: str) -> bytes | None:
        """Return the output so far, also after its end, or None if there is no such command.

        The model gets it: it counts as shown.
        """
        job = self.job(name)
        if job is None:
            return None
        job.shown = job.output.total
        return job.output.value()

    def job(self, name: str) -> Job | None:
        """Return a command that runs or ran in the background of this runner."""
        return self._jobs.get(name) or self._ended.get(name)

    def new_answer(self) -> None:
        """Note that the model has seen all that was shown so far, because its next answer begins."""
        for job in (*self._jobs.values(), *self._ended.values()):
            job.shown_before = job.shown

    @property
    def any_on_network(self) -> bool:
        """Whether a running command uses the network of this machine."""
        return any(job.has_network for job in self._jobs.values())

    def withdraw_message(self, job: Job) -> None:
        """Drop the message about the end of a command, if it was not delivered yet."""
        if job.message is not None and self._messages is not None:
            self._messages.withdraw(job.message)

    async def start(self, name: str, draft: CommandDraft, events: Events) -> ToolResult:
        """Start an approved command. Returns its first output, or how it failed."""
        if draft.unsandboxed and self._tree.unit is not None:
            return ToolResult(ok=False, text=ONLY_IN_UNIT, summary="not run")
        access, about = await self._access(name, draft)
        await self._look(access)
        job = Job(name, draft.command, self._clock.monotonic(), self._events)
        self._jobs[name] = job
        job.has_network = draft.network or draft.unsandboxed or self._tree.sandbox.network
        events.record(BackgroundStarted(name=name, command=draft.command, outputs=self._outputs(access)))
        sandbox = Sandbox() if draft.unsandboxed else self._tree.sandbox
        job.task = asyncio.ensure_future(
            sandbox.run(
                draft.command,
                self._tree.workspace.root,
                access,
                cwd=draft.cwd,
                env=self._tree.env,
                timeout=draft.timeout,
                on_output=job.feed,
                on_start=job.started,
            )
        )
        try:
            await asyncio.wait({job.task}, timeout=EARLY_END_SECONDS)
        except asyncio.CancelledError:
            await self._end(job, "interrupted by the person", events)
            raise
        if job.task.done():
            done = self._close(job, events)
            job.shown = job.output.total
            text = f"`{name}` ended early: {done.how}.\n{about}{done.output}"
            return ToolResult(ok=False, text=text, summary=done.how)
        job.task.add_done_callback(lambda _: self._ended_itself(job))
        printed = "\n".join(job.last_lines(_LAST_LINES)) or "It printed nothing yet."
        job.shown = job.output.total
        text = (
            f"`{name}` runs in the background. read_file with path `output:{name}` shows what it prints, "
            f"wait_for waits for its end, stop_command ends it; it ends with the run.\n{about}{printed}"
        )
        return ToolResult(ok=True, text=text, summary="runs")

    async def _access(self, name: str, draft: CommandDraft) -> tuple[Access, str]:
        """Return the permissions of a command, and a line about them for the model.

        The workspace is read-only for it, because nobody decides on what it changes. Without a sandbox and in a unit of
        work it can write everything.
        """
        tree, layers = self._tree, self._tree.layers
        access = Access(network=draft.network, writable=draft.writable)
        if draft.unsandboxed or tree.unit is not None or tree.sandbox.kind is None:
            if layers is not None:
                layers.others_write = True
            return access, ""
        folder = f"background-{name}"
        with suppress(FileExistsError):
            (tree.sandbox.temp / folder).mkdir()
        shown = Path("/tmp") if tree.sandbox.kind == "bubblewrap" else tree.sandbox.temp
        live = await asyncio.to_thread(live_places, tree.workspace, layers, self._live, tree.gate, tree.guard)
        line = live_line(live, str(shown / folder), tree.workspace.root)
        return replace(access, keeps_workspace=True, live=live), f"{line}\n"

    def _outputs(self, access: Access) -> list[str]:
        """Return the folders of the workspace that a command can write; in a unit of work it writes only there."""
        if self._tree.unit is not None and self._tree.sandbox.kind is not None:
            return []
        if not access.keeps_workspace:
            return [EVERYWHERE]
        return [place.relative_to(self._tree.workspace.root).as_posix() for place in access.live]

    async def suspend(self) -> list[str]:
        """Keep the commands from writing to the workspace until `resume`. Returns the names of those that were
        suspended.
        """
        async with self._holding:
            self._held += 1
            if self._held > 1:
                return []
            stopped: list[str] = []
            for job in self._jobs.values():
                if job.processes is None:
                    continue
                hold = WriteHold(job.processes, self._tree.workspace.seen)
                self._holds.append((job.name, hold))
                if not await asyncio.to_thread(hold.acquire):
                    stopped.append(job.name)
            return stopped

    async def resume(self) -> None:
        """Resume the commands after a check."""
        async with self._holding:
            self._held -= 1
            while not self._held and self._holds:
                _, hold = self._holds.pop()
                await asyncio.to_thread(hold.release)

    async def stop(self, name: str, by: str, events: Events) -> BackgroundEnded | None:
        """End a command. Returns None if nothing runs under that name."""
        job = self._jobs.get(name)
        if job is None:
            return None
        return await self._end(job, f"stopped by the {by}", events)

    async def end_all(self, how: str, *, with_run: bool = False) -> None:
        """End all background commands of the run. `with_run`: because the run ends, whose outcome names them."""
        for job in list(self._jobs.values()):
            await self._end(job, how, self._events, with_run=with_run)

    @property
    def title(self) -> str:
        """The running commands, for people."""
        return "; ".join(f"{job.name}: {job.command}" for job in self._jobs.values()) or "in the background"

    def look_from(self, now: Before) -> None:
        """Note that all changes until now are recorded."""
        self.seen = now if self._jobs else None

    async def _look(self, access: Access) -> None:
        """Remember what a command that starts can change: the folders that the user named, or all of the workspace."""
        root, only = self._tree.workspace.root, frozenset(PurePosixPath(name).as_posix() for name in self._live)
        if not access.keeps_workspace:
            only = WHOLE
        elif not any(place.relative_to(root).as_posix() in only for place in access.live):
            return
        before = self.seen
        if before is None or not (only <= before.only or before.only == WHOLE):
            self.seen = await look(self._tree.workspace, self._tree.sandbox, only=only)

    async def _end(self, job: Job, how: str, events: Events, *, with_run: bool = False) -> BackgroundEnded:
        job.ended_by = how
        job.task.cancel()
        await asyncio.wait({job.task})
        return self._close(job, events, with_run=with_run)

    def _ended_itself(self, job: Job) -> None:
        if job.ended_by or job.name not in self._jobs:
            return
        done = self._close(job, self._events)
        if job.is_awaited:
            return
        text = f"`{job.name}`, which ran in the background, ended: {done.how}."
        text = f"{text} Its last lines:\n{done.output}" if done.output else text
        job.message = Prompted(kind="background", text=text)
        if self._messages is None:
            self._events.record(job.message)
        else:
            self._messages.send(job.message)

    def _close(self, job: Job, events: Events, *, with_run: bool = False) -> BackgroundEnded:
        job.stop_reports()
        self._jobs.pop(job.name, None)
        self._ended[job.name] = job
        how, is_ok = job.ended_by, True
        if not how:
            done = job.task.result()
            is_ok = done.exit_code == 0
            how = done.error or f"exit code {done.exit_code}"
        ended = BackgroundEnded(
            name=job.name,
            how=how,
            ok=is_ok,
            output="\n".join(job.last_lines(_LAST_LINES)),
            full=self._journal.blobs.keep(job.output.value()) if job.output.total else None,
            seconds=self._clock.monotonic() - job.began,
            with_run=with_run,
        )
        job.end = ended
        events.record(ended)
        return ended
