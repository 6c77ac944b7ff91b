"""The folders of a call: the workspace, and where the journals are stored. Does not import textual."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from rundry.agent import UserError, load_settings, runs_dir


def workspace_of(flags: Mapping[str, object], option: str = "--cwd") -> Path:
    """Return the folder of `--cwd`, or the current one. `option`: what messages call it. Raises UserError."""
    asked = flags.get("cwd")
    if asked == "":
        raise UserError(f"{option} is empty: name a folder")
    try:
        folder = Path(str(asked)) if asked else Path.cwd()
        if not folder.is_dir():
            raise UserError(f"{option} {folder}: no such folder")
        resolved = folder.resolve()
    except OSError as error:
        raise UserError(f"the workspace {asked or 'here'} cannot be opened: {error.strerror}") from None
    if not os.access(resolved, os.R_OK | os.X_OK):
        raise UserError(
            f"the workspace {resolved} cannot be read: change its permissions, or name another with {option}"
        )
    try:
        str(resolved).encode()
    except UnicodeEncodeError:
        raise UserError(f"{os.fsencode(resolved)!r}: the path of a workspace must be UTF-8 text") from None
    return resolved


def folder_of(flags: Mapping[str, object]) -> Path:
    """Return the folder in which the journals are stored."""
    asked = load_settings({"runs_dir": flags.get("runs_dir")}, cwd=Path("/"), env=os.environ, trust=False)
    return runs_dir(asked.get("runs_dir", str), os.environ)
