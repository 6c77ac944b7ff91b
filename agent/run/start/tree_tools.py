"""Make the tool context for one tree of files of a run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ...extend.mcp.mcp_servers import no_servers
from ...protocol import LoopKind
from ...step.formats.chat_edits import ChatEdits
from ...step.formats.file_edits import FileEdits
from ...tools.read_contents import ReadContents
from ...tools.reading.fetching import Fetcher
from ...tools.tool_context import ToolContext
from ...tools.web.request_gate import Web
from .usable_commands import UsableChecks

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...state.facts.run_facts import RunFacts
    from ...step.formats.text_edits import TextEdits
    from ...step.resources.models_in_use import ModelsInUse
    from ...step.resources.run_tree_files import Tree
    from ...step.resources.used_limits import UsedLimits
    from ...step.tool_calls.background import Background


def tool_context(
    tree: Tree,
    journal: Journal,
    facts: RunFacts,
    models: ModelsInUse,
    background: Background,
    limits: UsedLimits,
) -> ToolContext:
    """Return the context for the tools of one tree."""
    finder, rules = facts.spec.finder, tree.gate.policy.rules
    return ToolContext(
        workspace=tree.workspace,
        env=tree.env,
        sandbox=tree.sandbox,
        blobs=journal.blobs,
        mcp=no_servers(),  # `with_servers` adds them
        time_limits=limits,
        limit=_result_limit(models.of_run.window),
        fetcher=Fetcher(finder.hosts, rules=rules) if finder is not None and finder.hosts else None,
        web=Web(journal.redactor, facts.spec.web_search, os.environ),
        background=background,
        rules=rules,
        skills=facts.spec.skills,
        contents=ReadContents(facts, facts.changes, began_ns=int(float(journal.meta("created") or 0) * 1e9)),
        checks=UsableChecks(Path(facts.spec.home), tree.env) if facts.spec.loop is LoopKind.PLAN else None,
        decides="" if facts.spec.then is None else facts.spec.then.predicates.words,
    )


def text_edits(tree: Tree, journal: Journal, facts: RunFacts, tools: ToolContext) -> TextEdits:
    """Return what shows files to a model, and makes edits of its answers, in a file format."""
    if facts.spec.loop is LoopKind.CHAT:
        return ChatEdits(tree.workspace, facts, tools)
    return FileEdits(tree.workspace, journal, facts, tree.guard, tools)


def _result_limit(window: int) -> int:
    """Return the maximum number of characters of one tool result, for a window in tokens.

    It is at most about a quarter of a small window, so that several rounds fit.
    """
    return max(1_000, min(12_000, window))
