"""What a user does in the workspace of a run, and a look at all of it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from .in_process.simulated_hours import repository_of
from .project import git


def work_as_user(folder: Path) -> None:
    """Edit, stage, create, delete and link files, change modes, commit, and make a branch and a stash."""
    (folder / "user").mkdir()
    for name in ("edited", "staged", "runs", "deleted", "committed"):
        (folder / "user" / name).write_text(f"{name} by the user\n")
    (folder / "user" / "link").symlink_to("edited")
    git(folder, "add", "user/deleted", "user/committed", "user/runs")
    git(folder, "commit", "-qm", "The user's commit", "--", "user/deleted", "user/committed")
    (folder / "user" / "committed").write_text("edited after the commit\n")
    (folder / "user" / "deleted").unlink()
    (folder / "user" / "runs").chmod(0o755)
    (folder / "user" / "link").unlink()
    (folder / "user" / "link").symlink_to("staged")
    git(folder, "add", "user/staged")
    (folder / "untracked.txt").write_text("not added\n")
    git(folder, "branch", "the-users-branch")


def all_of(folder: Path) -> dict[str, str]:
    """Each file with its type, mode and content or target, the index, and the refs."""
    found = {f"git {name}": value for name, value in repository_of(folder).items()}
    found["index"] = git(folder, "ls-files", "--stage")
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if ".git" in name.parts or "__pycache__" in name.parts or path.is_dir():
            continue
        mode = path.lstat().st_mode
        data = os.readlink(path) if path.is_symlink() else path.read_bytes().hex()
        found[str(name)] = f"{stat.filemode(mode)} {data}"
    return found
