"""What changed in the workspace itself while something ran, as it was recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec


class ProtectedChange(msgspec.Struct, frozen=True, kw_only=True):
    """A file or link that git or a tool runs or reads as settings, and that changed while a command ran."""

    path: str
    """Relative to the workspace."""
    why: str
    """What runs it, or what it is."""
    is_known: bool = False
    """Whether `before` and `after` are its contents; else it is too large, secret, or a folder."""
    before: bytes | None = None
    """Content, or target of a link, or None if it did not exist."""
    after: bytes | None = None
    mode: int = 0
    """`st_mode` before, or 0 if it did not exist."""

    @property
    def line(self) -> str:
        """One line about what happened to it, for the model and the person."""
        return f"{self.path} changed while the command ran, and stays as it is: {self.why}"


class ChangedInPlace(NamedTuple):
    """What a command changed in the workspace itself, as it was recorded."""

    paths: Sequence[str] = ()
    protected: Sequence[ProtectedChange] = ()
    """What git or a tool runs by itself. Empty in a unit of work, because somebody decides on all of it later."""
    names: Sequence[str] = ()
    """New names of hidden files."""
    overwritten: Mapping[str, str] = {}
    """The files that existed before, with their digests now, or empty if it is deleted."""
