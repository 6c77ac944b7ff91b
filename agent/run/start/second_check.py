"""Refuse a run whose model could see the files of its second check (`--holdout-files`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...models.endpoint import is_local_server
from ...protocol import Refusal, RunSpec
from ...verdict.judge.holdout import held_out_files
from ...verdict.judge.judged_runs import is_judged

if TYPE_CHECKING:
    from ...step.resources.run_tree_files import Tree


def refuse_open_holdout(spec: RunSpec, tree: Tree) -> None:
    """Raise Refusal if the files of the second check cannot be hidden, or if it would never run. Reads the disk."""
    wanted = spec.predicates
    if wanted.holdout is None:
        return
    if why := _why_not_run(spec, tree):
        raise Refusal(f"--holdout: {why}, so the second check would not run; leave it out")
    open_ = next((one.line for one in tree.sandbox.missing() if one.name == "read_denied"), "")
    if open_:
        raise Refusal(f"--holdout-files: no file can be hidden from commands here ({open_}): see `rundry doctor`")
    near = [server.name for server in spec.mcp if server.url is not None and is_local_server(server.url)]
    if near:
        raise Refusal(
            f"--holdout-files: the MCP server {near[0]} runs on this machine outside of the sandbox, where it can read "
            "them: give it as a command, or leave it out"
        )
    held_out_files(wanted.holdout_files, tree.workspace.seen)


def _why_not_run(spec: RunSpec, tree: Tree) -> str:
    """Return why the second check would not run, or could be seen, or empty if it runs."""
    views = tree.views
    if views is None or views.namespaces is None:
        return f"the result is not judged in layers here ({tree.why_no_layers or 'this run has none'})"
    if spec.finder is not None and spec.finder.executor is not None:
        return "the items are checked on other machines, where its files are not hidden"
    if not (spec.loop.traits.has_children or is_judged(spec)):
        return "the result of this run is not judged"
    return ""
