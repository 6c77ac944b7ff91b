"""What an index has, by path, as `git ls-files` prints it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ...repo.index_file import is_plain_path
from .git_rows import Staged

if TYPE_CHECKING:
    from ...repo.real_git import RealGit

LISTING = ("ls-files", "--stage", "-v", "--debug", "-z")
_ENTRY = re.compile(
    rb"([a-zA-Z?]) (100644|100755|120000|160000) ([0-9a-f]{40}(?:[0-9a-f]{24})?) ([0-3])\t([^\0]+)\0"
    rb"  ctime: [^\n]*\n  mtime: [^\n]*\n  dev: [^\n]*\n  uid: [^\n]*\n  size: \d+\tflags: ([0-9a-f]+)\n"
)
_INTENDED = 1 << 29
"""Of an entry that `git add -N` made (read-cache-ll.h)."""


class BadListing(Exception):
    """The output is not that of `git ls-files`."""


class IndexedPath:
    """What an index has for one path."""

    __slots__ = ("is_assumed", "is_intended", "is_skipped", "staged")

    def __init__(self, staged: tuple[Staged, ...] = (), tag: str = "H", *, is_intended: bool = False) -> None:
        self.staged = staged
        self.is_assumed, self.is_skipped, self.is_intended = tag.islower(), tag in "Ss", is_intended


@dataclass(slots=True)
class IndexListing:
    """All paths of an index."""

    entries: dict[bytes, IndexedPath] = field(default_factory=dict[bytes, IndexedPath])
    refused: list[str] = field(default_factory=list[str])
    """Lines about entries that are not taken."""


def live_listing(git: RealGit, index: Path | None = None) -> IndexListing:
    """Return what the index of a repository of the user has, or another index file. Raises RealGitFailed."""
    return parse_listing(git.run(*LISTING, more={} if index is None else {"GIT_INDEX_FILE": str(index)}))


def parse_listing(out: bytes) -> IndexListing:
    """Parse the output of `LISTING`. Raises BadListing. An entry of `git add -N` counts as none."""
    found, end = IndexListing(), 0
    for part in _ENTRY.finditer(out):
        if part.start() != end:
            break
        end = part.end()
        path = part[5]
        if not is_plain_path(path):
            shown = "".join(one if one.isprintable() else "?" for one in os.fsdecode(path))
            found.refused.append(f"index: an entry {shown[:200]}")
            continue
        known = found.entries.get(path)
        staged = Staged(int(part[4]), part[2].decode(), part[3].decode())
        is_intended = bool(int(part[6], 16) & _INTENDED)
        before: Sequence[Staged] = () if known is None else known.staged
        every = () if is_intended else tuple(sorted((*before, staged)))
        found.entries[path] = IndexedPath(every, part[1].decode(), is_intended=is_intended)
    if end != len(out):
        raise BadListing("its index cannot be read")
    return found
