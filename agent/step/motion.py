"""What the kits of one run share: what runs, how a person interrupted it, and how long the run was busy."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from ..protocol import Stamped
from .stopwatch import Stopwatch


@dataclass(slots=True)
class Motion:
    """Of one run, with the kits of its tries."""

    watch: Stopwatch
    interrupted: str | None = None
    """How a person interrupted what runs, until that has ended."""
    step_once: bool = False
    """A person wants one step of a paused run."""
    news: asyncio.Event = field(default_factory=asyncio.Event)
    """Set whenever a command of a person was taken."""
    recorded: list[Stamped] | None = None
    """Of a commit that is not done yet."""
    counted: float = 0.0
    """Busy seconds that the journal holds already."""
    active: int = 0
    resting: int = 0
    running: set[asyncio.Task[Any]] = field(default_factory=set[asyncio.Task[Any]])
