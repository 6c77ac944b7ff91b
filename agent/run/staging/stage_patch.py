"""Write what is staged as a patch for plain git."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...layers.unit import left_out_of_patch
from ...repo.real_git import RealGit, RealGitFailed
from ...repo.repository import repository_top

if TYPE_CHECKING:
    from ...layers.run_layers import Listed
    from ...step.resources.run_stage import Stage


def write_patch(stage: Stage, listed: Listed, target: Path) -> None:
    """Write what is staged as a patch for plain git, after lines about what it does not have.

    Raises OSError and StaleFile.
    """
    with tempfile.TemporaryFile() as made:
        for line in left_out_of_patch(listed):
            made.write(f"# not in this patch: {line}\n".encode("utf-8", "backslashreplace"))
        for piece in patch_of(stage, listed):
            made.write(piece)
        made.seek(0)
        with target.open("wb") as file:  # not before it is whole: nobody must apply a part of it
            shutil.copyfileobj(made, file)


def patch_of(stage: Stage, listed: Listed) -> Iterator[bytes]:
    """Yield what is staged as a patch for the top of the repository. Raises OSError and StaleFile."""
    workspace, folders, hash_name = stage.workspace.root, stage.unit.layer.git, "sha1"
    if folders is not None:
        with suppress(RealGitFailed):
            hash_name = RealGit(folders, workspace).run("rev-parse", "--show-object-format").decode().strip()
    top = repository_top(workspace)
    below = "." if top is None else workspace.relative_to(top).as_posix()
    yield from stage.unit.patch(listed, prefix="" if below == "." else f"{below}/", hash_name=hash_name)
