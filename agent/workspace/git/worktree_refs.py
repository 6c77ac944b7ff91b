"""Remove the branches and tags that were created in one linked working tree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .places import places_of
from .refs import checked_out_elsewhere, commits_of_head, first_of_head, visited_by_head

if TYPE_CHECKING:
    from .repository import Repository
    from .state import GitState

_WHY = "rundry: its worktree is removed"
_KINDS = ("refs/heads/", "refs/tags/")
_MAKES_REFS = re.compile(r"\bgit\b[^\n;&|]*?\b(?:branch|checkout|switch|tag|update-ref|worktree)\b([^\n;&|]*)")
_WORD = re.compile(r"[^\s'\"]+")


async def drop_refs_made_in(tree: Repository, start: GitState, commands: Sequence[str]) -> None:
    """Remove refs that were created in this working tree since `start`, and restore those moved to its commits.

    All working trees of a repository share its refs, so another program may have created a new ref. It counts as
    created here if its tip is a commit of this tree, if HEAD of this tree was on it, or if one of the `commands` that
    ran here makes refs and names it. Raises GitFailed.
    """
    places = await places_of(tree)
    if not places.is_linked:
        return
    known = {start.commit, *start.refs.values(), first_of_head(places)}
    commits = commits_of_head(places, 0) - known
    named = visited_by_head(places) | {f"{kind}{word}" for word in _words_of(commands) for kind in _KINDS}
    elsewhere = await checked_out_elsewhere(tree, places)
    answer = await tree.run_checked("for-each-ref", "--format=%(refname) %(objectname) %(*objectname)", *_KINDS)
    for line in answer.out.decode("utf-8", "surrogateescape").splitlines():
        name, tip, peeled = line.split(" ")
        before = start.refs.get(name)
        if tip == before or name in elsewhere:
            continue
        is_own = (peeled or tip) in commits
        if before is not None and is_own:
            await tree.run_checked("update-ref", "--no-deref", "-m", _WHY, name, before, tip)
        elif before is None and (is_own or name in named):
            await tree.run_checked("update-ref", "--no-deref", "-d", name, tip)


def _words_of(commands: Sequence[str]) -> set[str]:
    """Return the words of the commands that create refs, without the prefix of full ref names."""
    words = {word for command in commands for rest in _MAKES_REFS.findall(command) for word in _WORD.findall(rest)}
    return {word.removeprefix("refs/heads/").removeprefix("refs/tags/") for word in words}
