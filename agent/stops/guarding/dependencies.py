"""The files and patterns that decide the verdict of a check."""

from __future__ import annotations

from pathlib import Path

import msgspec

from .shadows import Shadows


class Dependencies(msgspec.Struct):
    """The files and patterns that decide a verdict, found before the run begins."""

    files: set[str] = msgspec.field(default_factory=set[str])
    """Paths relative to the workspace, whether they exist or not."""
    patterns: set[str] = msgspec.field(default_factory=set[str])
    """gitignore-style globs."""
    holding: set[tuple[str, str]] = msgspec.field(default_factory=set[tuple[str, str]])
    """Pairs of a glob and a text: a matching file counts only if it contains the text."""
    outside: set[str] = msgspec.field(default_factory=set[str])
    """Absolute paths outside the workspace that configure a tool."""
    places: set[str] = msgspec.field(default_factory=set[str])
    """Folders of installed packages and programs, inside or outside the workspace."""
    goals: set[str] = msgspec.field(default_factory=set[str])
    """Paths of `files` at which a folder decides as well as a file."""
    work: set[str] = msgspec.field(default_factory=set[str])
    """Modules of the workspace that a script of the check imports and that count as code under test."""
    programs: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    """Workspace folders in PATH, and names of programs that a new file there would replace."""
    shadows: Shadows = msgspec.field(default_factory=lambda: Shadows((), (), Path("/nonexistent")))
