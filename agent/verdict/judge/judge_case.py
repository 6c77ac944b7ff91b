"""What is judged: a run whose predicates hold, and where its checks can run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from ...host.workspace_paths import Workspace
    from ...journal.journal import Journal
    from ...layers.run_layers import RunLayers
    from ...sandbox.sandbox import Sandbox
    from ...state.facts.run_facts import RunFacts
    from ...state.recorder import Events
    from ..scope.scope import Scope
    from .change_history import UnitChanges


class JudgedUnit(NamedTuple):
    """An open unit of work whose result is judged, before anything of it is in the workspace. Nothing runs in it."""

    changes: UnitChanges
    root: Path
    """Where this process reads its view."""
    run: RunFacts
    """Facts of the run that it belongs to: what was changed before it began."""
    missing: Sequence[str] = ()
    """What it has besides the files of its list, for people: output, and what changed in git. A view has none of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is judged."""

    facts: RunFacts
    """Facts of the run, or of the try or item in its unit, whose predicates hold."""
    journal: Journal
    views: RunLayers | None
    """Where views are made, or None if none can be made here."""
    no_views: str
    """Why no views can be made. Empty means that they can be made."""
    had_views: bool
    """Whether they could be made when the run began. If none can now, no result passes."""
    base: Path
    """The layers' folder of the workspace, where runs kept old contents."""
    workspace: Workspace
    """The workspace of the user, also if a unit is judged."""
    sandbox: Sandbox
    env: Mapping[str, str]
    """Environment of the checks."""
    scope: Scope
    state: Mapping[str, object]
    """What a predicate of the user gets (`--until-py`)."""
    background: Sequence[str]
    """Names of the background commands. They are suspended."""
    until: float | None
    """When it must have ended, in seconds of the monotonic clock, or None if there is no limit."""
    events: Events
    items: Sequence[str] | None = None
    """The checks of all items of a migration, which decide in place of the predicates. None means that the run is not a
    migration."""
    parallel: int = 1
    """How many checks of items run at the same time."""
    unit: JudgedUnit | None = None
    """The unit that has the result. None means that the workspace has it."""

    @property
    def layers(self) -> RunLayers:
        """Where views are made. Only for a case that has views."""
        assert self.views is not None  # the judge looked
        return self.views

    @property
    def root(self) -> Path:
        """Where this process reads the result."""
        return self.workspace.root if self.unit is None else self.unit.root

    @property
    def left(self) -> float | None:
        """The seconds that are left, or None if there is no limit."""
        return None if self.until is None else self.until - time.monotonic()

    @property
    def timeout(self) -> float:
        """The time limit of the next check in seconds."""
        own, left = self.facts.spec.predicates.timeout, self.left
        return own if left is None else max(1.0, min(own, left))
