"""`rundry verify`: confirm the result of an ended run."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...host.file_errors import SnapshotDamaged
from ...host.workspace_paths import Workspace
from ...journal.claim import claim
from ...journal.encoding import recorded_text
from ...journal.journal import Journal
from ...layers.fitness import place_of_orders
from ...protocol import Confirmed, RunHeld, RunSpec, RunVerified, UserError
from ...repo.old_snapshots.snapshots import Snapshots
from ...state.facts.checkpoint import facts_of
from ...verdict.judge.decided_now import decided_now
from ...verdict.judge.judge import MOST_LISTED
from ...verdict.judge.judge_view import ViewContent, ViewFailed
from ...verdict.judge.judged_runs import is_judged
from ...verdict.scope.run_scope import scope_of_run
from ..start.damaged_journal import require_undamaged
from ..start.sandbox_of_run import detect_sandbox, hide_rules_of
from ..start.usable_commands import require_usable_command
from ..start.variables_of_run import commands_env
from .checkout import Result, Stored
from .checkout_failed import CheckoutFailed
from .trial import run_trial

if TYPE_CHECKING:
    from ...state.facts.run_facts import RunFacts


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a verification."""

    run_id: str
    command: str
    result: Confirmed
    detail: str = ""
    output: str = ""
    """Head and tail of the output of the command that failed."""
    seconds: float = 0.0
    left_out: list[str] = []
    """Changes that nobody decided on: the checkout has none of them. At most 50."""
    recorded: bool = True
    """Whether it was recorded in the journal. It is not if a runner holds the journal."""


async def verify_run(path: Path, command: str | None, env: Mapping[str, str]) -> Verified:
    """Run the checks of the run, or `command`, once in a clean checkout of its result, and record the verification.

    Raises UserError for a run that has not ended or has no check, and JournalError.
    """
    journal = Journal.open(path)
    try:
        require_undamaged(journal)
        facts = facts_of(journal)
        commands = _commands(journal.spec, facts, command)
        if command is not None:
            home = Path(journal.spec.home)
            await asyncio.to_thread(
                require_usable_command, "--with", command, home, env, lambda path: _is_in_result(journal, facts, path)
            )
        verified = await _verify(journal, facts, commands, env)
        world = facts.world
    finally:
        journal.close()
    return _recorded(path, verified, world)


def _commands(spec: RunSpec, facts: RunFacts, command: str | None) -> list[str]:
    if facts.ended is None:
        raise UserError(f"run {spec.run_id} has not ended: `rundry resume {spec.run_id}` continues it")
    found = [command] if command is not None else spec.predicates.confirming or spec.predicates.until
    if not found:
        raise UserError(f"run {spec.run_id} has no check command: name one with --with CMD")
    return found


def _is_in_result(journal: Journal, facts: RunFacts, path: Path) -> bool:
    """Return whether the file is in the snapshot of the result, although it is no longer in the workspace."""
    home = Path(journal.spec.home)
    inside, stored = Path(os.path.normpath(path)), _stored(journal, facts)
    if stored is None or not inside.is_relative_to(home):
        return False
    try:
        return stored.snapshots.has(stored.tree, str(inside.relative_to(home)))
    except SnapshotDamaged:
        return False


def _workspace(journal: Journal) -> Workspace:
    rules = hide_rules_of(journal.spec.gate, journal.path.parent, held_out=journal.spec.predicates.holdout_files)
    private = [journal.path, journal.path.with_suffix(".snapshots")]
    return Workspace(Path(journal.spec.workspace), private=private, hide_rules=rules)


def _stored(journal: Journal, facts: RunFacts) -> Stored | None:
    """Return the snapshot of the result, or None if it is in the workspace."""
    if not facts.world or facts.changes.world is None:
        return None
    return Stored(Snapshots(journal.path.with_suffix(".snapshots")), facts.world)


def _view_content(journal: Journal, facts: RunFacts, workspace: Workspace) -> tuple[ViewContent | None, list[str]]:
    """Return what the checkout has instead of undecided changes, and their paths.

    Returns None if nothing decided about the run. Raises CheckoutFailed.
    """
    root = workspace.root
    if not is_judged(journal.spec) or not root.is_dir():
        return None, []
    scope = scope_of_run(facts.verdicts, journal, root)
    if scope is None:
        raise CheckoutFailed("an older version of rundry made this run, and did not note what it may change")
    try:
        now = decided_now(facts, journal, place_of_orders(root, journal.path.parent), root, scope)
        if now.decided.unknown:
            raise CheckoutFailed(f"what some files were before is not known: {now.decided.unknown[0]}")
        names = [recorded_text(one.path) for one in now.decided.undecided]
        return ViewContent.without_undecided(now.decided, now.contents), names[:MOST_LISTED]
    except (OSError, ValueError, ViewFailed) as error:
        raise CheckoutFailed(f"what the run changed cannot be read: {error}") from error


async def _verify(journal: Journal, facts: RunFacts, commands: list[str], env: Mapping[str, str]) -> Verified:
    spec, workspace = journal.spec, _workspace(journal)
    held_out = spec.predicates.holdout_files
    sandbox = await detect_sandbox(spec.gate, workspace.root, journal.path.parent, held_out=held_out)
    began = time.monotonic()
    try:
        content, left_out = await asyncio.to_thread(_view_content, journal, facts, workspace)
    except CheckoutFailed as why:
        return Verified(
            run_id=spec.run_id,
            command=" && ".join(commands),
            result=Confirmed.NOT_CONFIRMED,
            detail=str(why),
            seconds=time.monotonic() - began,
        )
    result = Result(
        journal=journal,
        facts=facts,
        workspace=workspace,
        sandbox=sandbox,
        env=commands_env(env, spec.gate, spec.model, spec.web_search),
        stored=_stored(journal, facts),
        content=content,
    )
    wanted = spec.predicates
    is_any = wanted.any and commands == wanted.until
    trial = await run_trial(result, commands, wanted.timeout, any_=is_any)
    return Verified(
        run_id=spec.run_id,
        command=" && ".join(commands),
        result=trial.result,
        detail=trial.detail,
        output=trial.output,
        left_out=left_out,
        seconds=time.monotonic() - began,
    )


def _recorded(path: Path, verified: Verified, world: str | None) -> Verified:
    """Record the verification, unless a runner holds the journal."""
    event = RunVerified(
        command=verified.command,
        result=verified.result,
        detail=verified.detail,
        output=verified.output,
        world=world,
        seconds=verified.seconds,
    )
    try:
        with claim(path):
            journal = Journal.open(path)
            try:
                journal.append(event, durable=True)
            finally:
                journal.close()
    except RunHeld:
        return msgspec.structs.replace(verified, recorded=False)
    return verified
