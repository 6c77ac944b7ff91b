"""All events that this version knows, as one closed union."""

from __future__ import annotations

from .check import CheckEvent
from .children import ChildrenEvent
from .confirm import ConfirmEvent
from .finder import FinderEvent
from .passes import PassesEvent
from .person import PersonEvent
from .run import RunEvent
from .step import StepEvent
from .tries import TriesEvent
from .waits import WaitsEvent
from .wheel import WheelEvent
from .worktrees import WorktreesEvent

KnownEvent = (
    CheckEvent
    | ChildrenEvent
    | ConfirmEvent
    | FinderEvent
    | PassesEvent
    | PersonEvent
    | RunEvent
    | StepEvent
    | TriesEvent
    | WaitsEvent
    | WheelEvent
    | WorktreesEvent
)
