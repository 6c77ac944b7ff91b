"""What is judged: a run whose predicates hold, and where its checks can run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..facts.facts import RunFacts
    from ..journal.journal import Journal
    from ..layers.run_layers import RunLayers
    from ..protocol import Record
    from ..workspace.paths import Workspace
    from ..workspace.sandbox.sandbox import Sandbox
    from .scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is judged."""

    facts: RunFacts
    journal: Journal
    layers: RunLayers
    workspace: Workspace
    sandbox: Sandbox
    env: Mapping[str, str]
    """Environment of the checks."""
    scope: Scope
    state: Mapping[str, object]
    """What a predicate of the user gets (`--until-py`)."""
    background: Sequence[str]
    """Names of the background commands. They are suspended."""
    until: float | None
    """When it must have ended, in seconds of the monotonic clock; None: there is no limit."""
    record: Record

    @property
    def left(self) -> float | None:
        """The seconds that are left; None: there is no limit."""
        return None if self.until is None else self.until - time.monotonic()

    @property
    def timeout(self) -> float:
        """The time limit of the next check in seconds."""
        own, left = self.facts.spec.predicates.timeout, self.left
        return own if left is None else max(1.0, min(own, left))
