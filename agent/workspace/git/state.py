"""The recorded state of a repository: HEAD, refs, stash, index, running operations, settings, and its submodules."""

from __future__ import annotations

import msgspec

STASH = "refs/stash"
REMOTES = "refs/remotes/"


class Stashed(msgspec.Struct, frozen=True):
    """One entry of the stash with its message."""

    commit: str
    message: str
    name: str
    mail: str
    date: str
    """Seconds since 1970 and the time zone, in git's raw format."""


class KeptFile(msgspec.Struct, frozen=True):
    """A stored file of the git folder."""

    mode: int
    """Permission bits."""
    blob: str
    """Id of its bytes in the snapshot store."""


class GitState(msgspec.Struct, frozen=True, kw_only=True):
    """State of one repository at one moment."""

    head: str
    """Content of HEAD: `ref: refs/heads/NAME`, or the id of a commit."""
    commit: str | None
    """The commit of HEAD; None: there is none yet."""
    refs: dict[str, str] = {}
    """Object ids by full ref name, without symbolic refs."""
    stash: list[Stashed] = []
    """Entries of the stash, newest first."""
    index: str | None = None
    """Id of the index file in the snapshot store; None: there is none."""
    staged: str = ""
    """Digest of the index entries, without the file times that git also stores there."""
    operations: dict[str, KeptFile] = {}
    """Files of a merge, rebase, cherry-pick, revert or bisect in progress, by their path in the git folder."""
    settings: dict[str, KeptFile] = {}
    """Config, excludes, attributes and hooks, by their path in the common git folder."""
    head_log: int = 0
    """Size of the HEAD reflog in bytes: entries beyond it are later than this moment."""
    nested: list[str] = []
    """Untracked folders of the working tree that are repositories."""
    submodules: dict[str, Submodule] = {}
    """Submodules by path, relative to the top of the working tree."""

    @property
    def branch(self) -> str | None:
        """The full name of the checked-out branch; None: HEAD is detached."""
        return self.head.removeprefix("ref: ") if self.head.startswith("ref: ") else None


class Submodule(msgspec.Struct, frozen=True):
    """A checked-out submodule and the state of its repository."""

    pointer: str | None
    """Content of its `.git` file; None: `.git` is a folder."""
    state: GitState


def is_same(one: GitState, other: GitState) -> bool:
    """Return whether both states are the same, except for reflogs and the file times in the index."""
    return _without_times(one) == _without_times(other)


def _without_times(state: GitState) -> GitState:
    below = {path: Submodule(one.pointer, _without_times(one.state)) for path, one in state.submodules.items()}
    return msgspec.structs.replace(state, index=None, head_log=0, submodules=below)


def differences(start: GitState, end: GitState, path: str = "") -> list[str]:
    """Describe the changes of HEAD, refs, stash and submodules, one line each."""
    where = f"{path}: " if path else ""
    lines: list[str] = []
    if start.head != end.head:
        lines.append(f"{where}HEAD: {_head(start)} -> {_head(end)}")
    for name in sorted(start.refs.keys() | end.refs.keys()):
        before, after = start.refs.get(name), end.refs.get(name)
        if before != after and name != STASH and not name.startswith(REMOTES):
            lines.append(f"{where}{name}: {_short(before)} -> {_short(after)}")
    if [one.commit for one in start.stash] != [one.commit for one in end.stash]:
        lines.append(f"{where}stash: {len(start.stash)} -> {len(end.stash)} entries")
    for name in sorted(start.submodules.keys() | end.submodules.keys()):
        old, new = start.submodules.get(name), end.submodules.get(name)
        below = f"{path}/{name}" if path else name
        if old is not None and new is not None:
            lines += differences(old.state, new.state, below)
        else:
            lines.append(f"{where}submodule {name} {'added' if old is None else 'removed'}")
    return lines


def _head(state: GitState) -> str:
    return (state.branch or "").removeprefix("refs/heads/") or f"{_short(state.commit)} (detached)"


def _short(commit: str | None) -> str:
    return commit[:9] if commit else "none"
