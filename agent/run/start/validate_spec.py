"""Reject impossible run specs before a run is created."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...extend.telemetry.span_target import target_of
from ...gate.rule_lint import rule_problem
from ...host.extras import mcp_sdk_missing
from ...protocol import LoopKind, RunSpec, UserError
from ...protocol.tools.mcp import McpServer, server_of
from ...protocol.tools.traits import TOOL_TRAITS
from ...settings.default_limits import did_you_mean
from ...settings.scope_globs import scope_problem
from ...tools.reading.fetching import Fetcher
from ...verdict.predicates.validate_predicates import validate_predicates
from ..children.fix_target import check_fields
from .offered_tools import tools_of_run
from .usable_commands import require_usable_commands


def validate_spec(spec: RunSpec, env: Mapping[str, str]) -> None:
    """Raise UserError if a run with this spec is impossible. Reads only the spec, the workspace and the user's PATH."""
    if spec.finder is not None:
        Fetcher(spec.finder.hosts)
    _validate_loop(spec)
    validate_predicates(spec.predicates, Path(spec.home))
    require_usable_commands(spec, env)
    _validate_globs(spec)
    target_of(spec.otel, env)
    offered = tools_of_run(spec)
    for action in spec.predicates.require:
        tool = action.partition(":")[0]
        if tool not in offered:
            raise UserError(f"--require {action}: unknown tool {tool}: use one of {', '.join(offered)}")
    for rule in spec.gate.rules:
        if wrong := rule_problem(rule):
            raise UserError(wrong)
    _require_mcp_sdk(spec.mcp)
    servers = {server.name for server in spec.mcp}
    for tool in spec.gate.quotas:
        if tool not in TOOL_TRAITS and server_of(tool) not in servers:
            raise UserError(f"a quota for an unknown tool {tool!r}: {did_you_mean(tool, TOOL_TRAITS)}")


def _validate_loop(spec: RunSpec) -> None:
    """Raise UserError for a loop that a command of its own starts, if its settings are missing or cannot work."""
    if spec.loop.traits.has_search and spec.finder is None:
        raise UserError(f"--loop {spec.loop}: use rundry find FILE.toml, or rundry find --recipe crawl URL")
    if spec.loop is LoopKind.REPEAT and spec.repeat is None:
        raise UserError(f"--loop {spec.loop}: use rundry find FILE.toml --every 6h")
    if spec.loop is LoopKind.PLAN and spec.then is None:
        raise UserError(f"--loop {spec.loop}: use rundry --plan TASK")
    if spec.loop is LoopKind.FIX and spec.fix is None:
        raise UserError(f"--loop {spec.loop}: use rundry fix RUN --until CMD")
    if spec.loop is LoopKind.REVIEW:
        if spec.review is None:
            raise UserError(f"--loop {spec.loop}: use rundry review --fix --until CMD")
        check_fields(spec.review.until)


def _require_mcp_sdk(servers: Sequence[McpServer]) -> None:
    if servers and (missing := mcp_sdk_missing()) is not None:
        names = ", ".join(server.name for server in servers)
        raise UserError(f"[mcp.servers] {names}: the MCP SDK is not installed; {missing}")


def _validate_globs(spec: RunSpec) -> None:
    for option, globs in (("--scope", spec.predicates.scope), ("--holdout-files", spec.predicates.holdout_files)):
        if refused := scope_problem(globs):
            raise UserError(f"{option} {refused}")
