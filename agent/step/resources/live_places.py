"""Find what a process outside of layers can write: background commands and MCP servers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...gate.rules import applies_to_file
from ...layers.live_folders import live_folders
from ...protocol.text.path_text import quoted_path

if TYPE_CHECKING:
    from ...gate.gate import Gate
    from ...gate.guarded_paths import GuardedPaths
    from ...host.workspace_paths import Workspace
    from ...layers.run_layers import RunLayers

_MOST_NAMED = 5


def live_places(
    workspace: Workspace,
    layers: RunLayers | None,
    named: Sequence[str],
    gate: Gate,
    guard: GuardedPaths,
) -> list[Path]:
    """Return the folders of the workspace that such a process can write. Reads the disk.

    `named`: those that the user names.
    """
    root = workspace.root

    def is_protected(path: str) -> bool:
        if guard.matches(path) or guard.matches_below(root / path, root):
            return True
        rules = (rule for rule in gate.policy.rules if rule.verdict != "allow")
        return any(applies_to_file(rule, "write_file", [path]) for rule in rules)

    if layers is not None:
        return layers.live_folders(os.environ, is_protected)
    return live_folders(workspace, named, os.environ, is_protected)


def live_line(folders: Sequence[Path], own: str, root: Path) -> str:
    """Return the line that tells the model what a background command can write. `own`: its folder for files."""
    names = [quoted_path(path.relative_to(root).as_posix()) for path in folders[:_MOST_NAMED]]
    more = f" and {len(folders) - _MOST_NAMED} more" if len(folders) > _MOST_NAMED else ""
    but = f" except {', '.join(names)}{more}" if names else ""
    return f"The workspace is read-only for it{but}; it can write other files to {own}."
