"""State shared by the kits of one run: what runs, how a user interrupted it, and how long the run was busy."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from ..protocol import Stamped
from .stopwatch import Stopwatch


@dataclass(slots=True)
class Motion:
    """The state of one run, shared with the kits of its tries."""

    watch: Stopwatch
    interrupted: str | None = None
    """How a user interrupted what runs, until that has ended."""
    step_once: bool = False
    """Whether a user asked for one step of a paused run."""
    news: asyncio.Event = field(default_factory=asyncio.Event)
    """Set whenever a user's command was taken."""
    recorded: list[Stamped] | None = None
    """Events of the open commit; None: there is none."""
    counted: float = 0.0
    """Busy seconds that are recorded in the journal."""
    active: int = 0
    resting: int = 0
    running: set[asyncio.Task[Any]] = field(default_factory=set[asyncio.Task[Any]])
