"""Check `--until-file`: a file exists and is not empty (docs/requirements.md 2.3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..verdict import Verdict

if TYPE_CHECKING:
    from ...workspace.paths import Workspace


def judge_file(path: str, workspace: Workspace) -> Verdict:
    """Return whether the file exists and is not empty. `path` is relative to the workspace."""
    target = workspace.root / path
    name = f"until-file {path}"
    try:
        if not target.exists():
            return Verdict(name, False, f"{path} does not exist")
        if not target.is_file():
            return Verdict(name, False, f"{path} is not a file")
        size = target.stat().st_size
    except OSError as error:
        return Verdict(name, False, f"{path}: {error.strerror or error}")
    return Verdict(name, size > 0, f"{path} has {size:,} bytes" if size else f"{path} is empty")
