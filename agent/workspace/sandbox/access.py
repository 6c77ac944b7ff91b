"""The permissions of one command, in addition to those that the sandbox gives to every command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """Additional permissions of one command. The default adds none."""

    network: bool = False
    writable: Sequence[Path] = ()
    """Files and folders outside of the workspace that the command can write."""
    readable: Sequence[Path] = ()
    """Folders that the command sees as they are on the machine, although the sandbox hides or replaces them."""
    read_only: Sequence[Path] = ()
    """Workspace files that cannot be written; only bubblewrap enforces this."""
    keeps_workspace: bool = False
    """Whether the whole workspace is read-only for the command."""
    empty: Path | None = None
    """A folder below the temp folder that is empty and private for this command."""
