"""Wait for what a call of `wait_for` names. No model call is made meanwhile, and the result is only what is new."""

from __future__ import annotations

import asyncio
import stat
from contextlib import nullcontext
from typing import TYPE_CHECKING, Protocol

from ...host.file_errors import PathRefused, UnreadableFile
from ...host.terminal_text import plain
from ...protocol import AwaitBegan, AwaitEnd, AwaitEnded, AwaitKind, duration
from ...sandbox.command_access import Access
from ...tools.fit_text import LONGEST_LINE, fitting, head_and_tail, lines_of, numbered
from ...tools.reading.existing_files import existing
from ...tools.tool_context import OUTPUT
from ...tools.tool_result import ToolResult, failure
from ..resources.activity import CommandEnded, PersonInterrupted

if TYPE_CHECKING:
    from ...protocol.messages import SeenContent
    from ...state.common.await_facts import Await
    from ...state.recorder import Events
    from ...tools.tool_arguments import WaitFor
    from ..resources.run_context import RunContext
    from .background import Job

AT_MOST = 600.0
"""Seconds after which a wait ends if the call does not say."""
_LOOK_SECONDS, _TICK_SECONDS = 0.2, 1.0
"""Seconds between two looks at what is awaited, and at the limits."""
_SETTLE_LOOKS = 10
"""Looks for which a file that changes is awaited until it stays the same, so that it is not read half written."""
_OVERLAP = 4_096
"""Bytes of output that are searched again, because the awaited text can be split."""
_END_OF_FILE = 2_000
"""Characters of the end of a file that a result shows."""
_PORT_PROBE = (
    "exec 2>/dev/null; until (exec 3<>/dev/tcp/127.0.0.1/{port}) || (exec 3<>/dev/tcp/::1/{port}); do sleep 0.3; done"
)
_WHY: dict[AwaitEnd, str] = {
    "clock": "The longest time of the wait is over",
    "person": "The person ended the wait",
    "message": "A message arrived; you get it next",
    "interrupt": "The person interrupted the wait",
    "deadline": "The deadline passed",
    "limit": "The time of the run is used up",
}
_SUMMARY: dict[AwaitEnd, str] = {
    "met": "there",
    "ended": "ended before",
    "clock": "not yet",
    "person": "ended by you",
    "message": "ended by a message",
    "interrupt": "interrupted",
    "deadline": "the deadline",
    "limit": "time used up",
}


class _Target(Protocol):
    """What is awaited."""

    what: AwaitKind
    name: str
    mark: str
    """The state of an awaited file at the beginning, then the newest one. Empty for other things."""
    has_looked: bool
    """Whether the first look found nothing new. Before that, no limit of time ends a wait."""

    async def look(self) -> AwaitEnd:
        """Return once it is there (`met`), or cannot come any more (`ended`)."""
        ...

    async def result(self, by: AwaitEnd, seconds: float) -> ToolResult:
        """Return what is new. `seconds`: how long the wait took."""
        ...


async def wait_for(
    ctx: RunContext, call_id: str, args: WaitFor, events: Events, *, hears_messages: bool
) -> ToolResult | None:
    """Wait, and return what is new. Returns None if a person is awaited and none is there.

    A wait that an earlier runner began continues, with the same end. `hears_messages`: whether a message of the person
    ends it. Raises CommandEnded if a person interrupts it.
    """
    if why := ctx.tools.denial_of("wait_for", args.file):
        return failure(f"refused by the policy: {why}. Do not repeat it.", "refused")
    opened = ctx.facts.awaits.open.get(call_id)
    target = await _target_of(ctx, args, opened)
    if isinstance(target, ToolResult):
        if opened is not None:
            events.record(AwaitEnded(call_id=call_id, by="ended", seconds=ctx.clock.now() - opened.since))
        return target
    if target.what == "person" and not ctx.journal.views.is_attended():
        if opened is not None:
            events.record(AwaitEnded(call_id=call_id, by="nobody", seconds=ctx.clock.now() - opened.since))
        return None
    began = _begin(ctx, call_id, args, target) if opened is None else opened.began
    since = ctx.clock.now() if opened is None else opened.since
    if opened is None:
        events.record(began)

    def ended(by: AwaitEnd) -> float:
        seconds = max(0.0, ctx.clock.now() - since)
        events.record(AwaitEnded(call_id=call_id, by=by, seconds=seconds, mark=target.mark))
        return seconds

    started = ctx.clock.monotonic()
    try:
        by = await _end_of(ctx, target, began, hears_messages=hears_messages)
    except PersonInterrupted as how:
        by = "deadline" if str(how) == "deadline" else "interrupt"
        raise CommandEnded(how, (await target.result(by, ended(by))).text) from how
    finally:
        ctx.activity.awaited += ctx.clock.monotonic() - started
    seconds = ended(by)
    return None if by == "nobody" else await target.result(by, seconds)


def _begin(ctx: RunContext, call_id: str, args: WaitFor, target: _Target) -> AwaitBegan:
    seconds = args.at_most
    if args.seconds is not None:
        seconds = args.seconds if seconds is None else min(args.seconds, seconds)
    elif seconds is None and args.person is None:
        seconds = AT_MOST
    return AwaitBegan(
        call_id=call_id,
        what=target.what,
        name=target.name,
        text=args.text or "",
        until=None if seconds is None else ctx.clock.now() + seconds,
        counts=target.what in ("job", "file", "port"),
        mark=target.mark,
    )


async def _end_of(ctx: RunContext, target: _Target, began: AwaitBegan, *, hears_messages: bool) -> AwaitEnd:
    """Wait until something ends the wait, and return what. Raises PersonInterrupted."""
    activity, views, is_for_person = ctx.activity, ctx.journal.views, target.what == "person"
    looking, timer = asyncio.ensure_future(target.look()), asyncio.ensure_future(_time_is_over(ctx, began))
    for task in (looking, timer):
        task.add_done_callback(lambda _: activity.wake())
    with activity.awaiting(for_person=is_for_person) as wait:

        def ended() -> AwaitEnd | None:
            if looking.done():
                return looking.result()
            if wait.is_woken:
                return "person"
            if hears_messages and (ctx.facts.queue or activity.message_waits):
                return "message"
            if ctx.limits.deadline_passed():
                return "deadline"
            if is_for_person and ctx.headless and not views.is_attended():
                return "nobody"
            return timer.result() if timer.done() and target.has_looked else None

        try:
            with ctx.limits.running() if began.counts else nullcontext():
                await activity.interruptible(activity.until(lambda: ended() is not None))
            by = ended()
            assert by is not None  # `until` returned
            return by
        finally:
            looking.cancel()
            timer.cancel()
            await asyncio.gather(looking, timer, return_exceptions=True)


async def _time_is_over(ctx: RunContext, began: AwaitBegan) -> AwaitEnd:
    """Return once the wait has lasted as long as it may, or the run has no time left for it."""
    clock = ctx.clock
    end = None if began.until is None else clock.monotonic() + began.until - clock.now()
    budget, end_of_run = None, None
    while True:
        if began.counts and budget != ctx.facts.budget:
            budget, left = ctx.facts.budget, ctx.limits.seconds_for_work()
            end_of_run = None if left is None else clock.monotonic() + left
        now = clock.monotonic()
        if end is not None and (now >= end or (began.until is not None and clock.now() >= began.until)):
            return "clock"
        if end_of_run is not None and now >= end_of_run:
            return "limit"
        await clock.sleep(min([_TICK_SECONDS, *(each - now for each in (end, end_of_run) if each is not None)]))


async def _target_of(ctx: RunContext, args: WaitFor, opened: Await | None) -> _Target | ToolResult:
    """Return what a call awaits, or why that cannot be."""
    if args.job is not None:
        return _job_of(ctx, args.job, args.text or "", opened)
    if args.file is not None:
        return await _file_of(ctx, args.file, opened)
    if args.port is not None:
        return _port_of(ctx, args.port, opened)
    return _Moment(args.seconds, args.person)


def _job_of(ctx: RunContext, name: str, text: str, opened: Await | None) -> _Target | ToolResult:
    job = ctx.background.job(name)
    if job is not None:
        return _JobTarget(ctx, job, text)
    if opened is not None:
        return failure(f"`{name}` ended, because the program was restarted. Start it again.", "program restarted")
    running = ", ".join(ctx.background.names()) or "nothing"
    return failure(f"nothing runs or ran in the background under `{name}`; running: {running}", "not there")


class _JobTarget:
    """The end of a background command, or a text in its output."""

    what: AwaitKind = "job"
    mark = ""
    has_looked = False

    def __init__(self, ctx: RunContext, job: Job, text: str) -> None:
        self._ctx, self._job, self._text, self.name = ctx, job, text, job.name
        self._searched: int | None = None

    async def look(self) -> AwaitEnd:
        self._job.is_awaited = True
        try:
            return await self._look()
        finally:
            self._job.is_awaited = False

    async def _look(self) -> AwaitEnd:
        while True:
            is_over = self._job.end is not None  # before the search: all output is there then
            if self._text and self._is_printed():
                return "met"
            if is_over:
                return "ended" if self._text else "met"
            self.has_looked = True
            await self._ctx.clock.sleep(_LOOK_SECONDS)

    def _is_printed(self) -> bool:
        output, first = self._job.output, self._job.shown_before
        if output.total == self._searched:
            return False
        if self._searched is not None:
            first = max(first, self._searched - _OVERLAP - len(self._text.encode()))
        self._searched = output.total
        return self._text in plain(output.since(first))

    async def result(self, by: AwaitEnd, seconds: float) -> ToolResult:
        job, tools = self._job, self._ctx.tools
        new, job.shown = plain(job.output.since(job.shown)), job.output.total
        if job.end is not None:
            self._ctx.background.withdraw_message(job)
        start, end, left_out = head_and_tail(new, tools.limit)
        if left_out:
            path = f'read_file with path "{OUTPUT}{job.name}" shows them'
            start = f"{start.rstrip()}\n[{left_out:,} lines left out: {path}]\n{end}"
        shown = f"New output:\n{start}" if new.strip() else "It printed nothing new."
        return ToolResult(ok=True, text=f"{self._head(by, seconds)}\n{shown}", summary=self._summary(by))

    def _head(self, by: AwaitEnd, seconds: float) -> str:
        end = self._job.end
        state = f"`{self.name}` still runs." if end is None else f"`{self.name}` ended: {end.how}."
        if by == "met":
            return f"The output of `{self.name}` has the text. {state}" if self._text else state
        if by == "ended":
            return f"{state} Its output does not have the text."
        return f"{_WHY[by]}, after {duration(seconds)}. {state}"

    def _summary(self, by: AwaitEnd) -> str:
        end = self._job.end
        if end is not None and not (by == "met" and self._text):
            return end.how.replace("exit code", "exit")
        return "printed" if by == "met" else _SUMMARY[by]


async def _file_of(ctx: RunContext, path: str, opened: Await | None) -> _Target | ToolResult:
    if path.startswith(OUTPUT):
        name = path.removeprefix(OUTPUT)
        return failure(f'{path} is the output of a background command: use job="{name}" with text', "not a file")
    try:
        name = ctx.workspace.relative(ctx.workspace.resolve(path))
    except PathRefused as error:
        return failure(str(error), "refused")
    if opened is not None:
        return _FileTarget(ctx, name, opened.began.mark)
    mark = await asyncio.to_thread(_mark_of, ctx, name)
    is_new = mark != ctx.facts.awaits.files.get(name) and await asyncio.to_thread(_is_unread, ctx, name)
    return _FileTarget(ctx, name, "" if is_new else mark)


def _is_unread(ctx: RunContext, name: str) -> bool:
    """Return whether a file was written since the run began, and the model does not know this content."""
    state = existing(name, ctx.tools)
    return not isinstance(state, ToolResult) and ctx.tools.is_new(name, state)


def _mark_of(ctx: RunContext, name: str) -> str:
    """Return a text that differs when the file does, or an empty text if there is none."""
    try:
        status = ctx.workspace.resolve(name).stat()
    except (PathRefused, UnreadableFile, OSError, ValueError):
        return ""
    return "folder" if stat.S_ISDIR(status.st_mode) else f"{status.st_size} {status.st_mtime_ns}"


class _FileTarget:
    """A file of the workspace that appears, or changes."""

    what: AwaitKind = "file"
    has_looked = False

    def __init__(self, ctx: RunContext, name: str, mark: str) -> None:
        self._ctx, self.name, self.mark = ctx, name, mark

    async def look(self) -> AwaitEnd:
        while (mark := await self._look_at()) in ("", self.mark):
            self.has_looked = True
            self.mark = mark  # a file that was deleted and written again is new
            await self._ctx.clock.sleep(_LOOK_SECONDS)
        for _ in range(_SETTLE_LOOKS):
            before, self.mark = self.mark, mark
            if before == mark:
                break
            await self._ctx.clock.sleep(_LOOK_SECONDS)
            mark = await self._look_at()
        return "met"

    async def _look_at(self) -> str:
        return await asyncio.to_thread(_mark_of, self._ctx, self.name)

    async def result(self, by: AwaitEnd, seconds: float) -> ToolResult:
        if by != "met":
            state = f"{self.name} did not {'change' if self.mark else 'appear'}"
            return ToolResult(ok=True, text=f"{_WHY[by]}, after {duration(seconds)}: {state}.", summary=_SUMMARY[by])
        text, seen = await asyncio.to_thread(self._end_of_file)
        head = f"{self.name} is there or has changed."
        return ToolResult(ok=True, text=f"{head} {text}", summary=_SUMMARY[by], seen=seen)

    def _end_of_file(self) -> tuple[str, SeenContent | None]:
        tools = self._ctx.tools
        state = existing(self.name, tools)
        if isinstance(state, ToolResult):
            return state.text, None
        if state.is_binary:
            return f"It is a binary file of {state.size:,} bytes.", None
        lines = lines_of(state.text())
        if not lines:
            return "It is empty.", None
        count = fitting([line[:_END_OF_FILE] for line in reversed(lines)], _END_OF_FILE)
        first = len(lines) - count + 1
        shown = numbered(lines[-count:], first)
        is_cut = any(len(line) > LONGEST_LINE for line in lines[-count:])
        seen = None if is_cut else tools.seen(state, first, len(lines), len(lines))
        head = "It reads:" if first == 1 else f"Its last lines, of {len(lines):,}:"
        return "\n".join([head, *shown]), seen


def _port_of(ctx: RunContext, port: int, opened: Await | None) -> _Target | ToolResult:
    """Return the port as the commands of the run see it, or why nothing can listen on it there."""
    sandbox, background = ctx.sandbox, ctx.background
    if not background.names():
        if opened is not None:
            text = "What listened ended, because the program was restarted. Start it again."
            return failure(text, "program restarted")
        return failure("Nothing runs in the background that could listen on a port: start it first.", "nothing runs")
    if background.any_on_network or sandbox.shares_loopback:
        return _PortTarget(ctx, port)
    why = "A background command without network has ports that only it can see"
    return failure(f"{why}: wait for its output instead, with job and text.", "no network")


class _PortTarget:
    """A port that accepts connections: of this machine, or of the network that the commands of the run share."""

    what: AwaitKind = "port"
    mark = ""
    has_looked = True  # a port of an earlier runner is refused

    def __init__(self, ctx: RunContext, port: int) -> None:
        self._ctx, self._port, self.name = ctx, port, str(port)

    async def look(self) -> AwaitEnd:
        ctx, probes = self._ctx, [asyncio.ensure_future(self._nothing_runs())]
        if ctx.background.any_on_network:
            probes.append(asyncio.ensure_future(self._on_machine()))
        if ctx.sandbox.shares_loopback:
            probes.append(asyncio.ensure_future(self._in_sandbox()))
        try:
            done, _ = await asyncio.wait(probes, return_when=asyncio.FIRST_COMPLETED)
            return "met" if any(task.result() == "met" for task in done) else "ended"
        finally:
            for task in probes:
                task.cancel()
            await asyncio.gather(*probes, return_exceptions=True)

    async def _nothing_runs(self) -> AwaitEnd:
        while self._ctx.background.names():
            await self._ctx.clock.sleep(_LOOK_SECONDS)
        return "ended"

    async def _on_machine(self) -> AwaitEnd:
        while True:
            for host in ("127.0.0.1", "::1"):
                try:
                    _, writer = await asyncio.open_connection(host, self._port)
                except OSError:
                    continue
                writer.close()
                return "met"
            await self._ctx.clock.sleep(_LOOK_SECONDS)

    async def _in_sandbox(self) -> AwaitEnd:
        """Try it from where the commands of the run are, which see no port of this machine."""
        ctx = self._ctx
        probe = ["bash", "-c", _PORT_PROBE.format(port=self._port)]
        done = await ctx.sandbox.run_unchecked(
            probe,
            ctx.workspace.root,
            Access(keeps_workspace=True),
            cwd=ctx.workspace.root,
            env=ctx.env,
            timeout=_FOREVER,
        )
        if done.exit_code != 0:
            why = done.error or f"exit code {done.exit_code}"
            raise OSError(f"the port cannot be tried in the sandbox: {why}")
        return "met"

    async def result(self, by: AwaitEnd, seconds: float) -> ToolResult:
        if by == "met":
            return ToolResult(ok=True, text=f"Port {self._port} accepts connections.", summary="open")
        if by == "ended":
            text = f"Nothing runs in the background any more, so nothing listens on port {self._port}."
            return failure(text, "nothing runs")
        text = f"{_WHY[by]}, after {duration(seconds)}: port {self._port} does not accept connections."
        return ToolResult(ok=True, text=text, summary=_SUMMARY[by])


_FOREVER = 1e9
"""Time-out in seconds that is never reached: the wait ends the probe."""


class _Moment:
    """A time, or a message of a person: only what ends every wait ends this one."""

    mark = ""
    has_looked = True

    def __init__(self, seconds: float | None, person: str | None) -> None:
        self.what: AwaitKind = "time" if person is None else "person"
        self.name = person or duration(seconds or 0.0)

    async def look(self) -> AwaitEnd:
        await asyncio.Event().wait()
        raise AssertionError("nothing sets it")

    async def result(self, by: AwaitEnd, seconds: float) -> ToolResult:
        if by == "clock" and self.what == "time":
            return ToolResult(ok=True, text=f"{self.name} are over.", summary="over")
        if by == "message" and self.what == "person":
            return ToolResult(ok=True, text="The person answered; you get their message next.", summary="answered")
        return ToolResult(ok=True, text=f"{_WHY[by]}, after {duration(seconds)}.", summary=_SUMMARY[by])
