"""Report new problems in the files that a step changed, to the model and the person (decision 0043, section 4).

Nothing is decided by them. A tool starts only if the gate would start its command line without asking, because some
tools execute code of the project. It runs in the sandbox, in a layer that is dropped, or with a read-only workspace.
"""

from __future__ import annotations

import asyncio
import shlex
import time
from collections import Counter
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from ...gate.draft import CommandDraft
from ...host.file_errors import PathRefused
from ...host.plain_files import read_plain
from ...host.terminal_text import plain
from ...layers.judge_view_files import Past, put_past
from ...layers.layer_effects import TooMuch
from ...layers.remedies import LayerRefused
from ...protocol import FilesDiagnosed, Problem, Prompted
from ...protocol.text.counts import plural
from ...protocol.text.shorten_text import first_line
from ...sandbox.command_access import Access, programs_of_user
from .parse_files import parse_problems
from .project_tools import tools_for
from .read_problems import FileVersions, key_of, new_problems, read_problems

if TYPE_CHECKING:
    from pathlib import Path

    from ...host.processes.processes import Finished
    from ...layers.layer import Layer
    from ...layers.run_layers import RunLayers
    from ...sandbox.sandbox import Sandbox
    from ...state.recorder import Events
    from ..resources.run_context import RunContext
    from .project_tools import ToolUse
    from .read_problems import ProblemKey, ReadOutput

SECONDS = 3.0
"""How long a step waits for all tools together."""
MOST_FILES = 50
"""Changed files of one step that are looked at; more are the work of a program."""
MOST_PROBLEMS = 10
MOST_CHARACTERS = 1_500
_ENDING = 0.2
"""Seconds of these for the end of a tool that is too slow."""
_LARGEST = 1_000_000
"""Bytes of the largest file that is looked at."""
_OUTPUT = 1_000_000
"""Bytes of the output of a tool that are read."""
_REASON = 160
_CACHES = ".diagnostics"
"""Folder in the temp folder of commands for what tools keep until they run again."""
_CONFINED = ("bubblewrap", "landlock")
FileDigests = Mapping[str, "tuple[str | None, str | None]"]
"""Path to the digests of a file before the run and now, as in `Changes.files`."""


class _Look(NamedTuple):
    """What the tools of one step look at."""

    ctx: RunContext
    changed: Mapping[str, FileVersions]
    digests: FileDigests
    ends: float
    """Until when the step waits, on the monotonic clock."""

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(0.05, self.ends - time.monotonic())


class _Looked:
    """What came of one tool, as far as it got."""

    def __init__(self) -> None:
        self.now: list[Problem] | None = None
        """The problems now. None means that it did not finish."""
        self.before: Counter[ProblemKey] | None = None
        """Those before the run. None means that they are not known."""
        self.failed = ""
        """Why it could not look at the files, in one line."""
        self.is_before_late = False


class _Found(NamedTuple):
    """What came of all tools."""

    problems: list[Problem]
    ran: list[str]
    """Names of the tools that looked at the files."""
    notes: list[str]
    """Why others did not, one line each."""


async def diagnose(ctx: RunContext, earlier: FileDigests, events: Events, work: str | None) -> None:
    """Let tools look at the files that changed since `earlier`, and record new problems.

    Raises PersonInterrupted.
    """
    if not ctx.facts.spec.diagnostics or ctx.facts.changes.files == earlier:
        return
    digests, started = dict(ctx.facts.changes.files), time.monotonic()
    changed = _versions(ctx, {path: one for path, one in digests.items() if earlier.get(path) != one})
    if not changed:
        return
    look = _Look(ctx, changed, digests, started + SECONDS - _ENDING)
    with ctx.limits.running():
        found = await ctx.activity.interruptible(_diagnosed(look))
    memory, conversation = ctx.diagnostics, (ctx.work, work)
    new = memory.unsent(conversation, found.problems)
    shown = _that_fit(new, min(MOST_CHARACTERS, ctx.tools.limit))
    left_out = new[len(shown) :]
    memory.remember(conversation, [one for one in found.problems if one not in left_out], changed, found.ran)
    notes = memory.unshown(found.notes)
    if not (new or found.ran or notes):
        return
    ran = list(dict.fromkeys(found.ran))
    seconds = time.monotonic() - started
    events.record(FilesDiagnosed(problems=shown, left_out=len(left_out), ran=ran, notes=notes, seconds=seconds))
    if shown:
        events.record(Prompted(kind="diagnostics", text=_text(shown, len(left_out))))


def _versions(ctx: RunContext, moved: FileDigests) -> dict[str, FileVersions]:
    """Return the contents of the files of the project that exist, differ from before, and that the model may read."""
    found = dict[str, FileVersions]()
    for path, (old, new) in sorted(moved.items()):
        if new is None or old == new or len(found) == MOST_FILES:
            continue
        try:
            real = ctx.workspace.resolve(path)
            if ctx.tools.ignore.ignored(path) or ctx.tools.denial_of("read_file", path) is not None:
                continue
            before = None if old is None else ctx.journal.blobs.load(old)
            found[path] = FileVersions(before, read_plain(real, _LARGEST))
        except (PathRefused, KeyError, OSError):  # it is outside of the project, not a file, too large, or gone
            continue
    return found


async def _diagnosed(look: _Look) -> _Found:
    """Let all tools look at the files at the same time."""
    ctx = look.ctx
    uses = await asyncio.to_thread(tools_for, ctx.workspace.root, list(look.changed), ctx.env.get("PATH", ""))
    uses = [use for use in uses if not ctx.diagnostics.is_given_up(use.tool.name, use.folder)]
    uses = [use for use in uses if await _may_start(ctx, use)]
    parsing = asyncio.ensure_future(parse_problems(ctx.workspace.root, look.changed, look.left))
    looked = [_Looked() for _ in uses]
    tasks = [asyncio.ensure_future(_use_tool(look, use, into)) for use, into in zip(uses, looked, strict=True)]
    try:
        await asyncio.wait([parsing, *tasks], timeout=look.left)
    finally:
        await _end(ctx, [parsing, *tasks])
    found = _Found([], [], [])
    if parsing.done() and not parsing.cancelled():
        found.problems.extend(parsing.result())
    broken = {problem.path for problem in found.problems}
    for use, into, task in zip(uses, looked, tasks, strict=True):
        if task.done() and not task.cancelled():
            task.result()
        _add(found, look, use, into, broken)
    return found


def _add(found: _Found, look: _Look, use: ToolUse, into: _Looked, broken: Collection[str]) -> None:
    """Add what a tool found. `broken`: files that cannot be parsed, of which no tool says more."""
    memory, name = look.ctx.diagnostics, use.tool.name
    memory.note_time(name, use.folder, is_late=into.now is None and not into.failed)
    memory.note_time(name, use.folder, is_late=into.is_before_late, is_before=True)
    if memory.is_given_up(name, use.folder):
        found.notes.append(f"{name} took longer than {SECONDS:g} s twice: it is not tried again in this run")
    if into.failed:
        found.notes.append(f"{name} could not look at the changed files: {into.failed}")
    if into.now is not None:
        found.ran.append(name)
        new = new_problems(into.now, into.before, look.changed)
        found.problems.extend(problem for problem in new if problem.path not in broken)


async def _end(ctx: RunContext, tasks: Sequence[asyncio.Task[Any]]) -> None:
    """End what still runs. A program that does not end soon is ended while the run continues."""
    left = [task for task in tasks if not task.done()]
    for task in left:
        task.cancel()
        ctx.diagnostics.ending.add(task)
        task.add_done_callback(ctx.diagnostics.note_ended)
    if left:
        await asyncio.wait(left, timeout=_ENDING)


async def _may_start(ctx: RunContext, use: ToolUse) -> bool:
    """Return whether the gate would start the tool's command without asking, and the sandbox confines it.

    The command is judged as a person would write it: with the path of the program in the project, and, for rules that
    deny, with its name.
    """
    if ctx.sandbox.kind not in _CONFINED:
        return False
    words = use.argv(ctx.workspace.seen, ctx.sandbox.temp_seen)[1:]

    def verdict(program: str) -> str:
        line = shlex.join([program, *words])
        draft = CommandDraft(tool="run_command", command=line, timeout=SECONDS, cwd=ctx.workspace.seen)
        return ctx.gate.verdict(draft).action

    if await asyncio.to_thread(verdict, use.program) != "allow":
        return False
    return await asyncio.to_thread(verdict, use.program.rpartition("/")[2]) != "deny"


async def _use_tool(look: _Look, use: ToolUse, into: _Looked) -> None:
    """Let a tool look at the files now, and if it finds something also as they were before the run."""
    ctx = look.ctx
    try:
        async with _layer(ctx.layers) as layer:
            done = await _run(look, use, ctx.sandbox, layer, ctx.workspace.root, "now")
        read = read_problems(use, done.output + done.errors, ctx.workspace.seen)
    except (LayerRefused, OSError) as error:
        into.failed = first_line(str(error), _REASON)
        return
    if done.timed_out:
        return
    if not read.is_understood and done.exit_code != 0:
        into.failed = _why_failed(done)
        return
    into.now = read.problems
    older = [problem for problem in read.problems if look.changed[problem.path].before is not None]
    if older and not ctx.diagnostics.is_given_up(use.tool.name, use.folder, is_before=True):
        into.is_before_late = True
        into.before = await _problems_before(look, use)
        into.is_before_late = False


async def _run(look: _Look, use: ToolUse, sandbox: Sandbox, layer: Layer | None, root: Path, cache: str) -> Finished:
    """Run a tool. `layer`: None means that the workspace is read-only for it. `cache`: name of its folder there."""
    ctx = look.ctx
    seen = ctx.workspace.seen if cache == "now" else root
    (sandbox.temp / _CACHES / cache).mkdir(parents=True, exist_ok=True)
    cached = sandbox.temp_seen / _CACHES / cache
    argv = use.argv(seen, cached)
    env = {**ctx.env, "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1", **use.variables(cached)}
    access = Access(keeps_workspace=layer is None, readable=programs_of_user(argv[:1], seen))
    watch = None if layer is None else layer.watch()
    try:
        if layer is not None and watch is not None:
            access = replace(access, layer=replace(layer.access, begin=watch.begin))
        return await sandbox.run(
            argv,
            root,
            access,
            cwd=root / use.folder,
            env=env,
            timeout=look.left,
            separate_errors=True,
            limit=_OUTPUT,
            keep=_OUTPUT,
        )
    finally:
        if watch is not None:
            watch.end()


async def _problems_before(look: _Look, use: ToolUse) -> Counter[ProblemKey] | None:
    """Return the problems of these files before the run, or None if no place can be made to see them."""
    ctx = look.ctx
    keys = {
        path: (use.tool.name, use.folder, path, str(look.digests[path][0]))
        for path in use.files
        if look.changed[path].before is not None
    }
    known = ctx.diagnostics.before
    missing = [path for path, key in keys.items() if key not in known]
    layers = ctx.layers or ctx.views
    if missing:
        if layers is None or layers.has_copies:
            return None
        read = await _read_before(look, use._replace(files=missing), layers)
        if read is None:
            return None
        for path in missing:
            known[keys[path]] = Counter(key_of(problem) for problem in read.problems if problem.path == path)
    found = Counter[tuple[str, str, str]]()
    for key in keys.values():
        found.update(known[key])
    return found


async def _read_before(look: _Look, use: ToolUse, layers: RunLayers) -> ReadOutput | None:
    """Let a tool look at the files in a layer in which all files that the run changed are as they were."""
    ctx, past = look.ctx, dict[str, Past | None]()
    for path, (old, new) in look.digests.items():
        if old == new:
            continue
        try:
            data = None if old is None else ctx.journal.blobs.load(old)
        except KeyError:  # a large file
            continue
        past[path] = None if data is None else Past(data=data, mtime_ns=time.time_ns())
    sandbox = ctx.sandbox
    if ctx.unit is not None:  # the layer lies over the user's workspace
        sandbox = ctx.diagnostics.sandbox_before = ctx.diagnostics.sandbox_before or sandbox.separate_copy()
    try:
        async with _layer(layers, past) as layer:
            done = await _run(look, use, sandbox, layer, layers.workspace.root, "before")
    except (LayerRefused, TooMuch, ValueError, OSError):
        return None
    read = read_problems(use, done.output + done.errors, layers.workspace.seen)
    return read if not done.timed_out and (read.is_understood or done.exit_code == 0) else None


@asynccontextmanager
async def _layer(
    layers: RunLayers | None, past: Mapping[str, Past | None] | None = None
) -> AsyncGenerator[Layer | None]:
    """Open a layer for the block, in which these files are as they were. None if there are no layers."""
    if layers is None:
        yield None
        return
    opened = partial(layers.open) if past is None else partial(layers.open, prepare=partial(put_past, past=past))
    opening = asyncio.ensure_future(asyncio.to_thread(opened))
    try:
        layer = await asyncio.shield(opening)
    except asyncio.CancelledError:
        await asyncio.to_thread((await opening).drop)
        raise
    try:
        yield layer
    finally:
        await asyncio.shield(asyncio.to_thread(layer.drop))


def _why_failed(done: Finished) -> str:
    lines = [line.strip() for line in plain(done.errors + done.output).splitlines() if line.strip()]
    if done.exit_code is None:
        return done.error or "it did not start"
    named = [line for line in lines if "error" in line.lower()]
    return first_line((named or lines)[0], _REASON) if lines else f"exit code {done.exit_code}"


def _that_fit(problems: Sequence[Problem], characters: int) -> list[Problem]:
    shown = list[Problem]()
    for problem in problems[:MOST_PROBLEMS]:
        characters -= len(_line(problem)) + 1
        if characters < 0:
            break
        shown.append(problem)
    return shown


def _line(problem: Problem) -> str:
    return f"- {problem.path}:{problem.line}: {problem.message} ({problem.tool})"


def _text(problems: Sequence[Problem], left_out: int) -> str:
    """Return the message to the model."""
    count = len(problems) + left_out
    more = [f"- and {left_out} more"] if left_out else []
    head = f"{plural(count, 'new problem')} in the files that you changed, according to tools of the project:"
    return "\n".join([head, *map(_line, problems), *more])
