"""Make the guard and the tool context for one tree of files of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...config.finder.recipes import EVERY_FILE
from ...mcp.servers import no_servers
from ...protocol import LoopKind
from ...step.chat_edits import ChatEdits
from ...step.file_edits import FileEdits
from ...stops.guard import NO_DEFAULTS, Guard, default_guard, guard_of_items
from ...tools.context import ToolContext
from ...tools.read_contents import ReadContents
from ...tools.reading.fetching import Fetcher

if TYPE_CHECKING:
    from ...facts.facts import RunFacts
    from ...journal.journal import Journal
    from ...protocol import Predicates, RunSpec
    from ...step.checks.guarded import Guarded
    from ...step.resources.context import RunContext
    from ...step.resources.models_in_use import ModelsInUse
    from ...step.resources.tree import Tree
    from ...step.resources.usage import Usage
    from ...step.text_edits import TextEdits
    from ...step.tool_calls.background import Background


def guard_of(spec: RunSpec, root: Path, env: Mapping[str, str]) -> Guard:
    """Return the guard of a tree. A migration guards what its check depends on, except the files that it changes."""
    finder = spec.finder
    if finder is None or finder.check is None:
        return default_guard(_guarded(spec), spec.task, root, env)
    globs = [glob for glob in finder.globs if glob != EVERY_FILE]
    return guard_of_items(finder.check, spec.predicates, spec.task, globs, root, env)


def guard_in_unit(run: RunContext, deciding: Guard) -> Guard:
    """Return the guard of a unit of work: what asks at each change. `deciding`: what decides about the goal."""
    return asked_guard(run.facts.spec) if run.judges else deciding


def asked_guard(spec: RunSpec) -> Guard:
    """Return the guard of a run whose result is judged: only what the user named asks at each change."""
    return Guard(asked=[glob for glob in spec.predicates.guard if glob != NO_DEFAULTS])


def tool_context(
    tree: Tree,
    journal: Journal,
    facts: RunFacts,
    models: ModelsInUse,
    guarded: Guarded,
    background: Background,
    usage: Usage,
) -> ToolContext:
    """Return the context for the tools of one tree."""
    finder = facts.spec.finder
    return ToolContext(
        workspace=tree.workspace,
        env=tree.env,
        sandbox=tree.sandbox,
        keep=journal.keep,
        load=journal.blob,
        mcp=no_servers(),  # `with_servers` adds them
        seconds_left=usage.seconds_for_work,
        limit=_result_limit(models.of_run.window),
        command_seconds=lambda: facts.spec.command_timeout,
        fetcher=Fetcher(finder.hosts) if finder is not None and finder.hosts else None,
        background=background.names,
        rules=tree.gate.policy.rules,
        read_only=guarded.read_only,
        live_output=background.output,
        skills=facts.spec.skills,
        contents=ReadContents(facts.changes),
    )


def text_edits(tree: Tree, journal: Journal, facts: RunFacts, tools: ToolContext) -> TextEdits:
    """Return what shows files to a model, and makes edits of its answers, in a file format."""
    if facts.spec.loop is LoopKind.CHAT:
        return ChatEdits(tree.workspace, facts, tools)
    return FileEdits(tree.workspace, journal, facts, tree.deciding, tools)


def _result_limit(window: int) -> int:
    """Return the maximum number of characters of one tool result, for a window in tokens.

    It is at most about a quarter of a small window, so that several rounds fit.
    """
    return max(1_000, min(12_000, window))


def _guarded(spec: RunSpec) -> Predicates:
    """Return the predicates for the guard. A score command counts as a check: the files it executes are guarded."""
    more = spec.guarded_commands if spec.improve is None else [spec.improve.score]
    return msgspec.structs.replace(spec.predicates, until=[*spec.predicates.until, *more]) if more else spec.predicates
