"""Find the git folders of a repository."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .repository import Repository


class GitPlaces(NamedTuple):
    """The folders of one repository, as seen from one of its working trees."""

    top: Path
    folder: Path
    """Git folder of this working tree."""
    common: Path
    """Git folder that all working trees of the repository share."""


async def places_of(repository: Repository) -> GitPlaces:
    """Ask git for its folders. Raises GitFailed."""
    answer = await repository.run_checked("rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir")
    top, folder, common = answer.line.split("\n")
    return GitPlaces(_real(Path(top)), _real(Path(folder)), _real(repository.folder / common))


def _real(path: Path) -> Path:
    return path.resolve()
