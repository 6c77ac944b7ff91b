"""The inputs from which a run is assembled: its journal, its order, and the context of its process."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ...host.real_clock import SystemClock
from ...models.open_model import ModelOpener

if TYPE_CHECKING:
    from ...extend.telemetry.live_export import Telemetry
    from ...journal.journal import Journal
    from ...protocol import Clock, Model
    from ...state.facts.run_facts import RunFacts
    from ...state.recorder import Listener
    from ...step.resources.run_context import ToolCalls
    from ..client.start_request import Order
    from .sandbox_of_run import EarlyTrial


@dataclass(frozen=True, slots=True)
class ProcessContext:
    """What the process provides to a run: models, clock and environment."""

    opener: ModelOpener = field(default_factory=ModelOpener)
    checked: Model | None = None
    """A model that was probed already, or None if there is none."""
    clock: Clock = field(default_factory=SystemClock)
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    tried: EarlyTrial | None = None
    """The sandbox of a run that begins now, tried while its options were checked."""
    spans: Telemetry | None = None
    """Sends the spans of the run and of its child runs. None means nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The arguments of `assemble`: a run, what is requested of it, its process, and what performs its tool calls."""

    journal: Journal
    facts: RunFacts
    order: Order
    process: ProcessContext
    calls: ToolCalls
    on_event: Listener
    """Called with each event of the run."""

    tell: Callable[[str], None] = lambda line: None
    """Called with a line when the user has to wait."""

    @property
    def store(self) -> Path:
        """The folder of the run's snapshots."""
        return self.journal.path.with_suffix(".snapshots")
