"""The permissions of one command, in addition to those that the sandbox gives to every command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """What one command can use. The default adds nothing."""

    network: bool = False
    writable: Sequence[Path] = ()
    readable: Sequence[Path] = ()
    """Folders that the command can read as they are outside, although the sandbox shows something else there."""
    read_only: Sequence[Path] = ()
    """Workspace files that cannot be written; only bubblewrap enforces this."""
    empty: Path | None = None
    """A folder below the temp folder, which this command sees empty and alone."""
