"""Refuse a run whose model could see the files of its second check (`--holdout-files`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...model.endpoint import is_local_server
from ...protocol import Refusal, RunSpec
from ...verdict.holdout import held_out_files
from ...verdict.which import judges

if TYPE_CHECKING:
    from ...step.resources.tree import Tree


def refuse_open_holdout(spec: RunSpec, tree: Tree) -> None:
    """Raise Refusal if the files of the second check cannot be hidden, or if it would never run. Reads the disk."""
    wanted = spec.predicates
    if wanted.holdout is None:
        return
    if tree.views is None or tree.views.namespaces is None or not judges(spec, tree.views):
        raise Refusal(f"--holdout follows the judge of a run in layers, and this run has none: {tree.why_no_layers}")
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
