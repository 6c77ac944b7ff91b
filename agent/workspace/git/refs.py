"""Restore refs and the stash, unless someone changed them after the pass."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...system.plain_files import read_plain
from .places import LARGEST_KEPT, GitPlaces
from .record import stash_of
from .state import REMOTES, STASH, GitState, Stashed

if TYPE_CHECKING:
    from .repository import Repository

_WHY = "rundry: pass rolled back"
_BRANCHES = "refs/heads/"
_HEAD_MOVED = re.compile(rb"\t(?:checkout: moving from .* to|Branch: renamed .* to) (\S+)$")


async def restore_refs(
    repository: Repository, places: GitPlaces, want: GitState, have: GitState, *, branches_only: bool = False
) -> list[str]:
    """Restore refs; return a line for each one that was not restored. Raises GitFailed.

    Branches that another working tree has checked out are not restored, nor are remote-tracking refs of earlier remotes
    (an editor may fetch at any time). In a linked working tree, which shares all refs with the user's own tree, only
    branches that this working tree's HEAD was on are restored.
    """
    elsewhere = await checked_out_elsewhere(repository, places)
    own = commits_of_head(places, want.head_log) if places.is_linked else None
    known_remotes = {name.removeprefix(REMOTES).partition("/")[0] for name in want.refs if name.startswith(REMOTES)}
    moved: list[str] = []
    for name in want.refs.keys() | have.refs.keys():
        if want.refs.get(name) == have.refs.get(name) or name == STASH or name in elsewhere:
            continue
        is_remote = name.startswith(REMOTES) and name.removeprefix(REMOTES).partition("/")[0] in known_remotes
        is_others = own is not None and name != want.branch and have.refs.get(name) not in own
        if not is_remote and not is_others and (not branches_only or name.startswith(_BRANCHES)):
            moved.append(name)
    left: list[str] = []
    for name in sorted(
        moved, key=lambda name: (name in want.refs, name)
    ):  # deleted first: one may block another's name
        left += await _restore(repository, name, want.refs.get(name), have.refs.get(name))
    if not places.is_linked and not branches_only and want.stash != have.stash:
        left += await _restore_stash(repository, want.stash, have.stash)
    return left


async def _restore(repository: Repository, name: str, want: str | None, have: str | None) -> list[str]:
    answer = await repository.run("rev-parse", "--verify", "--quiet", name)
    now = answer.line if answer.code == 0 else None
    if now == want:
        return []
    if now != have:
        return [f"{name}: not restored, because someone moved it since"]
    if want is None:
        await repository.run_checked("update-ref", "--no-deref", "-d", name, have or "")
        return []
    if (await repository.run("cat-file", "-e", want)).code != 0:
        return [f"{name}: the repository no longer has the object {want}"]
    await repository.run_checked("update-ref", "--no-deref", "-m", _WHY, name, want, have or "")
    return []


async def _restore_stash(repository: Repository, want: list[Stashed], have: list[Stashed]) -> list[str]:
    """Restore the stash. It is a reflog, so all entries are stored again, oldest first, with their names and dates."""
    now = [one.commit for one in await stash_of(repository)]
    wanted = [one.commit for one in want]
    if now == wanted:
        return []
    # an interrupted roll-back leaves only the oldest entries, or none
    is_halfway = not now or now == wanted[-len(now) :]
    if now != [one.commit for one in have] and not is_halfway:
        return ["stash: not restored, because someone changed it since"]
    gone = [one.commit for one in want if (await repository.run("cat-file", "-e", one.commit)).code != 0]
    if gone:
        return [f"stash: the repository no longer has the entry {commit}" for commit in gone]
    if now:
        await repository.run_checked("update-ref", "-d", STASH)
    for one in reversed(want):
        who = {"GIT_COMMITTER_NAME": one.name, "GIT_COMMITTER_EMAIL": one.mail, "GIT_COMMITTER_DATE": one.date}
        await repository.run_checked("stash", "store", "--quiet", "-m", one.message, one.commit, more=who)
    return []


async def checked_out_elsewhere(repository: Repository, places: GitPlaces) -> set[str]:
    """Return the branches that other working trees of this repository have checked out. Raises GitFailed."""
    answer = await repository.run_checked("worktree", "list", "--porcelain")
    found: set[str] = set()
    for tree in answer.out.decode("utf-8", "surrogateescape").split("\n\n"):
        facts: dict[str, str] = {}
        for line in tree.splitlines():
            name, _, value = line.partition(" ")
            facts[name] = value
        if facts.get("worktree") != str(places.top) and "branch" in facts:
            found.add(facts["branch"])
    return found


def commits_of_head(places: GitPlaces, since: int) -> set[str]:
    """Return the commits that HEAD of this working tree was on, from this byte of its reflog on."""
    return {
        fields[1].decode("ascii", "replace") for line in _log(places, since) if len(fields := line.split(b" ", 2)) > 1
    }


def first_of_head(places: GitPlaces) -> str | None:
    """Return the first commit in the HEAD reflog of this working tree."""
    fields = next(iter(_log(places, 0)), b"").split(b" ", 2)
    return fields[1].decode("ascii", "replace") if len(fields) > 1 else None


def visited_by_head(places: GitPlaces) -> set[str]:
    """Return the branches that HEAD of this working tree was on, according to its reflog."""
    found = (_HEAD_MOVED.search(line) for line in _log(places, 0))
    names = {match[1].decode("utf-8", "surrogateescape") for match in found if match is not None}
    return {_BRANCHES + name.removeprefix(_BRANCHES) for name in names}


def _log(places: GitPlaces, since: int) -> list[bytes]:
    log = places.folder / "logs" / "HEAD"
    data = read_plain(log, LARGEST_KEPT) if log.is_file() else b""
    return (data[since:] if len(data) >= since else data).splitlines()
