"""Commit what is staged to a new branch, without touching the workspace or its index."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ...protocol import UserError
from ...workspace.errors import StaleFile
from ...workspace.sandbox.git_folders.real_git import RealGit, RealGitFailed
from .patch import patch_of

if TYPE_CHECKING:
    from ...layers.run_layers import Listed
    from ...step.resources.stage import Stage

_SUBJECT = 72


def make_branch(stage: Stage, listed: Listed, name: str, task: str) -> str:
    """Return the commit of the new branch: HEAD with what is staged. Raises UserError."""
    folders = stage.unit.layer.git
    if folders is None:
        raise UserError(f"--branch {name}: {stage.workspace.root} is not in a git repository")
    git = RealGit(folders, stage.workspace.root)
    try:
        git.run("check-ref-format", "--branch", name)
        patch = b"".join(patch_of(stage, listed))
        with tempfile.TemporaryDirectory(dir=stage.unit.folder) as folder:
            more = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            git.run("read-tree", "HEAD", more=more)
            git.run("apply", "--cached", "--whitespace=nowarn", "-", stdin=patch, more=more)
            tree = git.run("write-tree", more=more).decode().strip()
        subject = " ".join(task.split())[:_SUBJECT] or "Apply a stage"
        commit = git.run("commit-tree", tree, "-p", "HEAD", stdin=f"{subject}\n".encode()).decode().strip()
        git.run("update-ref", f"refs/heads/{name}", commit, "0" * len(commit))
    except (RealGitFailed, OSError, StaleFile) as error:
        raise UserError(f"--branch {name}: {error}") from None
    return commit
