"""The published JSON Schema of each kind of spec file."""

from __future__ import annotations

from ..finder.tables import SpecFile
from .goal_tables import GoalFile
from .schema import Node, SpecKind, published_schema


def spec_schema(kind: SpecKind) -> Node:
    """Return the schema with which an editor checks spec files of this kind."""
    return published_schema(GoalFile if kind == "goal" else SpecFile, kind)
