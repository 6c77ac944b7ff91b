"""How the person left a view of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rundry.agent import StopHow


@dataclass(frozen=True, slots=True)
class ViewResult:
    """Result of the view: how the person left it."""

    stop: StopHow | None = None
    """How the run is being stopped, or None if it continues or has ended."""
    signal: int = 0
    """The signal that ended the view."""
    failed: bool = False
    """The screen itself failed."""
    refused: str = ""
    """Why the run could not start or continue."""
    later: bool = False
    """A later retry can succeed."""
    next: str = ""
    """The view to open next: `demo`, `resume RUN` or `watch RUN`."""
