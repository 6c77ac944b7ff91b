"""Reject impossible run specs before a run is created."""

from __future__ import annotations

from pathlib import Path

from ...config import near
from ...gate import nonsense
from ...protocol import LoopKind, RunSpec, UserError
from ...stops import require_usable
from ...tools import TOOLS, Fetcher
from .tools_on_offer import tools_of
from .worktree_preflight import branch_of


def check_usable(spec: RunSpec) -> None:
    """Raise UserError that names the option and the fix. Reads only the spec and the workspace."""
    if spec.finder is not None:
        Fetcher(spec.finder.hosts)
    if spec.loop is LoopKind.UNTIL_DRY and spec.finder is None:
        raise UserError("--loop until-dry: say what to search with rundry find FILE.toml, or --recipe crawl URL")
    branch = branch_of(spec)
    origin = branch.worktree_of if branch is not None else None
    require_usable(spec.predicates, Path(origin or spec.workspace))
    offered = tools_of(spec)
    for action in spec.predicates.require:
        tool = action.partition(":")[0]
        if tool not in offered:
            raise UserError(f"--require {action}: unknown tool {tool}: use one of {', '.join(offered)}")
    for rule in spec.gate.rules:
        if wrong := nonsense(rule):
            raise UserError(wrong)
    for tool in spec.gate.quotas:
        if tool not in TOOLS:
            raise UserError(f"a quota for {tool!r}: there is no such tool; {near(tool, TOOLS)}")
