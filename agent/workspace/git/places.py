"""Find the git folders of a repository, and the files in them that belong to its state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .repository import Repository

OPERATIONS = (
    "MERGE_HEAD",
    "MERGE_MSG",
    "MERGE_MODE",
    "MERGE_RR",
    "AUTO_MERGE",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "SQUASH_MSG",
    "ORIG_HEAD",
    "BISECT_ANCESTORS_OK",
    "BISECT_EXPECTED_REV",
    "BISECT_HEAD",
    "BISECT_LOG",
    "BISECT_NAMES",
    "BISECT_RUN",
    "BISECT_START",
    "BISECT_TERMS",
    "config.worktree",
    "info/sparse-checkout",
    "rebase-apply",
    "rebase-merge",
    "sequencer",
)
"""Files and folders of one working tree that belong to its state."""
SETTINGS = ("config", "info/attributes", "info/exclude", "hooks")
"""Settings files of the whole repository."""
_MOST = 2_000
LARGEST_KEPT = 1 << 30
"""Maximum bytes of a git file that is stored."""
_MOST_BYTES = 16_000_000


class GitPlaces(NamedTuple):
    """The folders of one repository, as seen from one of its working trees."""

    top: Path
    folder: Path
    """Git folder of this working tree."""
    common: Path
    """Git folder that all working trees of the repository share."""

    @property
    def is_linked(self) -> bool:
        """Return whether `git worktree` made this tree, so that the user's tree shares its refs, stash and settings."""
        return self.folder != self.common


async def places_of(repository: Repository) -> GitPlaces:
    """Ask git for its folders. Raises GitFailed."""
    answer = await repository.run_checked("rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir")
    top, folder, common = answer.line.split("\n")
    return GitPlaces(_real(Path(top)), _real(Path(folder)), _real(repository.folder / common))


def _real(path: Path) -> Path:
    return path.resolve()


def files_of(folder: Path, names: tuple[str, ...]) -> Iterator[Path]:
    """Yield the regular files with these names, and all in folders with these names, up to 2,000 files and 16 MB."""
    waiting = [folder / name for name in reversed(names)]
    files, room = 0, _MOST_BYTES
    while waiting and files < _MOST:
        path = waiting.pop()
        if path.is_symlink():
            continue
        if path.is_dir():
            waiting += sorted(path.iterdir(), reverse=True)
        elif path.is_file() and path.suffix not in (".sample", ".lock") and path.stat().st_size <= room:
            files, room = files + 1, room - path.stat().st_size
            yield path
