"""Run the success predicates after a step and record their results; the loop decides from them."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...host.protected_names import NOT_SEARCHED
from ...layers.remedies import LayerRefused
from ...protocol import CheckFinished, CheckStarted, PredicateJudged, Verify
from ...state.facts.verdicts import digest_of_answer
from ...verdict.checks.predicate_verdict import PredicateVerdict
from ...verdict.checks.run_check import CheckResult, not_run, run_check
from ...verdict.counting.compare_counts import why_suspect
from ...verdict.counting.counted import Counted
from ...verdict.judge.approved_modules import approved_modules
from ...verdict.predicates.python_predicate import judge_python
from ...verdict.predicates.required import RunActions, judge_required
from ...verdict.predicates.schema_predicate import judge_schema
from ..resources.last_line import output_reported
from .judged_check import run_judged_check, temp_note

if TYPE_CHECKING:
    from ...host.workspace_paths import Workspace
    from ...journal.journal import Journal
    from ...state.facts.run_facts import RunFacts
    from ...state.recorder import Events
    from ...verdict.checks.check_environment import CheckEnvironment
    from ..resources.change_tracker import ChangeTracker
    from ..resources.run_context import RunContext
    from ..resources.used_limits import UsedLimits

MOST_MISSING = 50
"""Missing tests that one event names; the blob of the check has all of them."""
_MOST_FILES = 100_000
_CACHES = NOT_SEARCHED | {".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox"}


async def verify(
    ctx: RunContext, events: Events, *, claim: bool, baseline: bool = False, compared: bool = True
) -> None:
    """Run the predicates that are due.

    `claim`: the model stopped calling tools or called `finish`. `baseline`: this is before the first call. `compared`:
    compare the tests that ran with those that ran first.
    """
    wanted = ctx.facts.spec.predicates
    if not wanted.exist:
        return
    is_due = baseline or await _is_due(ctx.facts, ctx.workspace, ctx.files, claim=claim)
    if is_due:
        unchanged = claim and not baseline and await _is_unchanged(ctx)
        left = [command for command in wanted.until if not (unchanged and _stays_red(ctx, command))]
        for command in left:
            await _check(ctx, command, events, baseline=baseline, compared=compared)
        if left == wanted.until:
            ctx.files.note_checked()
    for path in wanted.until_py:
        if is_due or (wanted.verify is not Verify.ON_CLAIM and _is_stale(ctx.facts, f"until-py {path}")):
            await _judge_python(ctx, path, events)
    for path in wanted.until_file:
        _judged(judge_file(path, ctx.workspace), events)
    for action in wanted.require:
        _judged(judge_required(action, _run_actions(ctx)), events)
    if wanted.schema is not None and (claim or _is_stale(ctx.facts, f"schema {wanted.schema}")):
        await _judge_schema(ctx, wanted.schema, events)
    ctx.files.note_verified(ctx.facts.world)
    if is_due and wanted.verify is Verify.ON_CHANGE:
        ctx.files.note_stamp(await _stamp_of_files(ctx.workspace))


def judge_file(path: str, workspace: Workspace) -> PredicateVerdict:
    """Return whether the file exists and is not empty. `path` is relative to the workspace."""
    target = workspace.root / path
    name = f"until-file {path}"
    try:
        if not target.exists():
            return PredicateVerdict(name, False, f"{path} does not exist")
        if not target.is_file():
            return PredicateVerdict(name, False, f"{path} is not a file")
        size = target.stat().st_size
    except OSError as error:
        return PredicateVerdict(name, False, f"{path}: {error.strerror or error}")
    return PredicateVerdict(name, size > 0, f"{path} has {size:,} bytes" if size else f"{path} is empty")


def _is_stale(facts: RunFacts, name: str) -> bool:
    """Return whether the predicate's verdict is about an earlier answer."""
    verdicts = facts.verdicts
    return name in verdicts.predicates and not verdicts.is_about(name, facts.answer)


async def _is_due(facts: RunFacts, workspace: Workspace, files: ChangeTracker, *, claim: bool) -> bool:
    """Return whether checks are due: at a claim, and if the last result of a check does not count.

    At a claim a red verdict may still be used again, see `_stays_red`.
    """
    wanted = facts.spec.predicates
    checks = facts.verdicts.checks
    if claim or any(command not in checks or checks[command].uncounted for command in wanted.until):
        return True
    match wanted.verify:
        case Verify.EVERY_STEP:
            return True
        case Verify.ON_CHANGE:
            if not files.is_verified_at(facts.world) or (files.unverified and facts.world is None):
                return True
            if files.looked:
                return False
            if await _stamp_of_files(workspace) != (files.verified_stamp or ""):
                return True
            files.note_looked()
            return False
        case Verify.ON_CLAIM:
            return False


async def _is_unchanged(ctx: RunContext) -> bool:
    """Return whether nothing happened since the checks ran that could change their verdicts."""
    files = ctx.files
    if ctx.facts.spec.predicates.verify is not Verify.ON_CHANGE or files.acted or ctx.background.names():
        return False
    return files.verified_stamp is not None and await _stamp_of_files(ctx.workspace) == files.verified_stamp


def _stays_red(ctx: RunContext, command: str) -> bool:
    """Return whether the newest verdict of a check is plainly red, and no files ever had two verdicts of it."""
    check = ctx.facts.verdicts.checks.get(command)
    if check is None or check.passed or check.timed_out or check.error is not None:
        return False
    return check.uncounted is None and check.suspect is None and ctx.files.is_steady(command)


async def _stamp_of_files(workspace: Workspace) -> str | None:
    """Return a stamp of all files, including ignored ones, because a check may read them."""
    return await asyncio.to_thread(_file_stamp, workspace.root)


def _file_stamp(root: Path) -> str | None:
    """Return a stamp that changes with any file or its times. Returns None if there are more than 100,000 files."""
    found = hashlib.sha256()
    waiting, count = [str(root)], 0
    while waiting:
        try:
            with os.scandir(waiting.pop()) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _CACHES:
                    waiting.append(entry.path)
                continue
            count += 1
            if count > _MOST_FILES:
                return None
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            fields = (entry.path, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            found.update(repr(fields).encode("utf-8", "surrogateescape"))
    return found.hexdigest()


async def _check(ctx: RunContext, command: str, events: Events, *, baseline: bool, compared: bool) -> None:
    events.record(CheckStarted(command=command))

    async def run(environment: CheckEnvironment) -> CheckResult:
        with ctx.limits.running(), output_reported(events, command) as report:
            checking = run_check(
                command,
                ctx.workspace,
                env=environment.env,
                timeout=_seconds(ctx.facts, ctx.limits),
                sandbox=environment.sandbox,
                access=environment.access,
                on_output=report,
            )
            return await ctx.activity.interruptible(checking)

    uncounted = wrote = None
    try:
        result, place = await run_judged_check(ctx, command, run, events)
        uncounted, wrote = place.why_unknown, place.wrote
        if not result.passed and (note := temp_note(ctx)):
            result = msgspec.structs.replace(result, output=f"{result.output.rstrip()}{note}")
    except LayerRefused as refused:
        result = not_run(command, str(refused))
    finished = check_finished(ctx, result, uncounted, baseline=baseline, compared=compared)
    if wrote is not None and command not in ctx.facts.verdicts.starts:
        finished = msgspec.structs.replace(finished, wrote=ctx.journal.blobs.keep(msgspec.json.encode(wrote)))
    if not finished.timed_out:
        ctx.files.note_verdict(command, ctx.facts.world, passed=finished.passed)
    events.record(finished)


def check_finished(
    ctx: RunContext, result: CheckResult, uncounted: str | None, *, baseline: bool = False, compared: bool = True
) -> CheckFinished:
    """Return the event of a finished check. A check that does not count or is suspect has not passed."""
    passed = result.passed and uncounted is None
    suspicion = None
    if passed and compared:
        suspicion = why_suspect(_reference(ctx.journal, ctx.facts, result.command), result.counted, result.output)
    counted = None if result.counted is None else ctx.journal.blobs.keep(msgspec.json.encode(result.counted))
    return CheckFinished(
        command=result.command,
        passed=passed and suspicion is None,
        exit_code=result.exit_code,
        timed_out=result.timed_out,
        failing=result.failing,
        output=result.output,
        seconds=result.seconds,
        error=result.error,
        baseline=baseline,
        uncounted=uncounted,
        ran=None if result.counted is None else result.counted.ran,
        counted=counted,
        suspect=None if suspicion is None else suspicion.why,
        missing=[] if suspicion is None else suspicion.missing[:MOST_MISSING],
        missing_count=0 if suspicion is None else len(suspicion.missing),
        is_fewer=suspicion is not None and suspicion.is_fewer,
    )


def _reference(journal: Journal, facts: RunFacts, command: str) -> Counted | None:
    """Return the tests that this check counted first, or None."""
    sha = facts.verdicts.references.get(command)
    try:
        return None if sha is None else msgspec.json.decode(journal.blobs.load(sha), type=Counted)
    except (KeyError, msgspec.DecodeError):  # a damaged journal
        return None


async def _judge_python(ctx: RunContext, path: str, events: Events) -> None:
    async def run(environment: CheckEnvironment) -> PredicateVerdict:
        with ctx.limits.running():
            judging = judge_python(
                path,
                ctx.workspace,
                state_of_run(ctx.facts, ctx.limits),
                env=environment.env,
                timeout=_seconds(ctx.facts, ctx.limits),
                sandbox=environment.sandbox,
                approved=await _approved(ctx, path),
                access=environment.access,
            )
            return await ctx.activity.interruptible(judging)

    await _judge_in_place(ctx, f"until-py {path}", run, events)


async def _approved(ctx: RunContext, script: str) -> dict[str, str]:
    """Return the modules that belong to a predicate of the user, with their digests."""
    scope = ctx.scope
    if scope is None:
        return {}
    return await asyncio.to_thread(approved_modules, script, scope, ctx.workspace.root)


async def _judge_schema(ctx: RunContext, path: str, events: Events) -> None:
    async def run(environment: CheckEnvironment) -> PredicateVerdict:
        with ctx.limits.running():
            judging = judge_schema(
                path,
                ctx.facts.answer,
                ctx.workspace,
                env=environment.env,
                timeout=_seconds(ctx.facts, ctx.limits),
                sandbox=environment.sandbox,
                access=environment.access,
            )
            return await ctx.activity.interruptible(judging)

    await _judge_in_place(ctx, f"schema {path}", run, events)


async def _judge_in_place(
    ctx: RunContext, name: str, run: Callable[[CheckEnvironment], Awaitable[PredicateVerdict]], events: Events
) -> None:
    """Judge and record the verdict, which counts only for the current answer."""
    answer = digest_of_answer(ctx.facts.answer)
    try:
        verdict, place = await run_judged_check(ctx, name, run, events)
        uncounted = place.why_unknown
    except LayerRefused as refused:
        verdict, uncounted = PredicateVerdict(name, False, f"it was not run: {refused}"), None
    if uncounted is not None:
        verdict = PredicateVerdict(verdict.name, False, f"it does not count: {uncounted}")
    _judged(verdict, events, answer)


def _seconds(facts: RunFacts, limits: UsedLimits) -> float:
    """Return the check's own time-out, or the rest of the run's time if that is shorter."""
    own, left = facts.spec.predicates.timeout, limits.seconds_for_work()
    return own if left is None else max(1.0, min(own, left))


def _judged(verdict: PredicateVerdict, events: Events, answer: str | None = None) -> None:
    events.record(
        PredicateJudged(
            name=verdict.name,
            passed=verdict.passed,
            detail=verdict.detail,
            answer=answer,
            not_guaranteed=verdict.not_guaranteed,
        )
    )


def _run_actions(ctx: RunContext) -> RunActions:
    facts, layers = ctx.facts, ctx.layers
    return RunActions(
        actions=facts.actions,
        applied=facts.applied,
        last_edit=facts.last_edit,
        is_watched=facts.world is not None or (layers is not None and not layers.others_write),
        root=ctx.workspace.seen,
    )


def state_of_run(facts: RunFacts, limits: UsedLimits) -> dict[str, object]:
    """Return the data for a predicate of the person: the outcome's fields so far, the last answer, the actions."""
    return {
        "run_id": facts.spec.run_id,
        "task": facts.spec.task,
        "workspace": facts.spec.workspace,
        "answer": facts.answer,
        "steps": facts.spent.steps,
        "tokens": msgspec.to_builtins(facts.spent.tokens),
        "usd": None if facts.spent.unpriced else facts.spent.usd,
        "seconds": limits.spent().seconds,
        "files_changed": facts.files_changed,
        "actions": [
            {"step": a.step, "tool": a.tool, "arguments": a.arguments, "ok": a.ok, "result": a.result}
            for a in facts.actions
        ],
    }
