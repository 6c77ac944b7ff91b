"""Events about the effects of commands that ran in a layer (decision 0039)."""

from __future__ import annotations

from .base import EventBase


class EffectsAccepted(EventBase, frozen=True, kw_only=True):
    """Effects of a command were accepted. From here on they are applied, whatever is killed."""

    order: str
    """Name of the order in the layers' folder of the workspace."""
    rows: str
    """Blob of the rows: each path with what it was and what it becomes."""
    command: str
    files: int
    """Number of rows."""


class EffectsApplied(EventBase, frozen=True, kw_only=True):
    """Accepted effects are in the workspace, except for those that conflict with it."""

    order: str
    conflicts: list[str] = []
    """One line for each path that somebody else changed meanwhile: it stays as they left it."""


LayersEvent = EffectsAccepted | EffectsApplied
"""The events of this module."""
