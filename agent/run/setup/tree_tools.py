"""The guard and the tool context for one tree of files of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...config import EVERY_FILE
from ...journal import Journal
from ...protocol import Model, Rule, RunSpec
from ...stops import Guard, default_guard, guard_of_items
from ...tools import ToolContext
from ...workspace import Sandbox, Workspace
from .worktree_preflight import guarded


def guard_of(spec: RunSpec, root: Path, env: Mapping[str, str]) -> Guard:
    """Return the guard of a tree. A migration guards what its check depends on, except the files that it changes."""
    finder = spec.finder
    if finder is None or finder.check is None:
        return default_guard(guarded(spec), spec.task, root, env)
    globs = [glob for glob in finder.globs if glob != EVERY_FILE]
    return guard_of_items(finder.check, spec.predicates, spec.task, globs, root, env)


def tool_context(
    journal: Journal,
    workspace: Workspace,
    env: Mapping[str, str],
    sandbox: Sandbox,
    model: Model,
    rules: Sequence[Rule],
) -> ToolContext:
    """Return what the tools of one tree work with. `rules`: the gate's own list, which grows."""
    return ToolContext(
        workspace=workspace,
        env=env,
        sandbox=sandbox,
        keep=journal.keep,
        load=journal.blob,
        limit=_result_limit(model.window),
        rules=rules,
    )


def _result_limit(window: int) -> int:
    """Return the characters of one tool result: at most a quarter of a small window, so that several rounds fit."""
    return max(1_000, min(12_000, window))
