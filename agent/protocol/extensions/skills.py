"""A skill: a folder with instructions for one kind of task, which the model loads when it needs them."""

from __future__ import annotations

from typing import Literal

import msgspec

Origin = Literal["user", "project"]
"""Whose folder contains it: the user's config folder, or the workspace."""
SKILL = "skill:"
"""Prefix of the paths under which `read_file` reads a skill and its files."""


class Skill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill that a run offers to its model. Only the name and the description are in the prompt."""

    name: str
    description: str
    origin: Origin
    folder: str
    """Absolute path with symbolic links resolved."""
    place: str = ""
    """The folder as the user knows it: relative to the workspace, or absolute. It names a project's skill in the trust
    store."""
    digest: str = ""
    """SHA-256 of the names and contents of its files when the run was created."""
