"""A folder with the files of a run or a try, and what protects these files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...gate.gate import Gate
    from ...gate.guarded_paths import GuardedPaths
    from ...host.workspace_paths import Workspace
    from ...layers.run_layers import RunLayers
    from ...layers.unit import Unit
    from ...sandbox.sandbox import Sandbox
    from .change_tracker import ChangeTracker
    from .run_stage import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """The workspace of a run, or the worktree of a try."""

    workspace: Workspace
    sandbox: Sandbox
    env: Mapping[str, str]
    """Environment of commands and checks, without the provider keys."""
    guard: GuardedPaths
    """Files whose changes always need approval."""
    gate: Gate
    files: ChangeTracker
    layers: RunLayers | None = None
    """Where commands write. None means the workspace itself."""
    why_no_layers: str = ""
    """Why they do not write into layers. Empty means that they do."""
    units: RunLayers | None = None
    """Where passes, tries and items of the run work, or None if it has none, or this is the tree of one."""
    views: RunLayers | None = None
    """Where the judge makes its views. None means that it can make none."""
    no_views: str = ""
    """Why the judge can make no views. Empty means that it can, or nothing is judged."""
    unit: Unit | None = None
    """The unit of work whose view `workspace` is. None means that it is a folder of its own."""
    stage: Stage | None = None
    """The stage of the run, whose unit it is. None means that the run has none."""

    def __post_init__(self) -> None:
        """Let tools refuse the names that hidden files get while commands run."""
        self.workspace.further_hidden = self.sandbox.further_hidden
