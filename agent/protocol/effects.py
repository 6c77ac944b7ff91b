"""What a command would change, as the entries of one proposal like a commit, and a person's choices in it."""

from __future__ import annotations

from typing import Literal

import msgspec

EntryKind = Literal[
    "file",
    "link",
    "folder",  # with nothing in it
    "install",  # a dependency folder, decided as a whole
    "tree",  # all changes below a folder, decided as a whole
    "git",  # what one repository gains
]
EntryChange = Literal["added", "changed", "deleted"]
ExecuteBit = Literal["", "executable", "not executable"]
GIT_HELD = "a file is not applied as the command left it"
"""Why a repository gains nothing: its commits have that file."""
EXECUTABLE = "it is executable"
"""Why a change of a file that was executable before the command asks."""
IN_PLACE = "it writes to the workspace itself: changes of files that neither git nor this run has cannot be undone"
"""What a person should know of a command where there are no layers."""


class EffectEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row of a proposal about what a command would change."""

    path: str
    """Relative to the workspace, as text (bytes that are not UTF-8 as `\\xff`). Of `git`: the working tree's folder, or
    empty for the workspace itself."""
    kind: EntryKind = "file"
    change: EntryChange = "changed"
    why: list[str] = []
    """Why it asks whatever the mode of the gate is, one line for each reason."""
    danger: bool = False
    """Only a person may approve it, in every mode."""
    conflict: str = ""
    """Why it cannot be accepted: the path changed while the command ran. Empty means that it can."""
    is_text: bool = False
    """The blobs `before` and `after` have its text."""
    before: str | None = None
    """Blob of the text before, or None if there was no file, or it is not shown."""
    after: str | None = None
    """Blob of the text after, or None if it is deleted, or not shown."""
    hunks: int = 0
    """Number of hunks that can be accepted one by one. 0 means that it is accepted or skipped as a whole."""
    added: int = 0
    """Lines added; of `install` and `tree`: of all its files together, as far as they are known."""
    removed: int = 0
    size_before: int = 0
    """Bytes before."""
    size: int = 0
    """Bytes after."""
    mode: ExecuteBit = ""
    """What the execute bit becomes. Empty means that it stays, or the file is new and not executable."""
    target: str = ""
    """Where a link leads, before or after."""
    count: int = 1
    """Number of paths for which it stands."""
    lines: list[str] = []
    """Of `git`: one line for each change (`main: 2 commits`), and the subjects of commits below it, indented. Of
    `install` and `tree`: what is new, changed and deleted, then what runs by itself, and why."""
    no_undo: bool = False
    """An undo cannot restore what it replaces."""


class CommandEffects(msgspec.Struct, frozen=True, kw_only=True):
    """What a command would change."""

    command: str
    heading: str = ""
    """Why it is asked, if no command waits: the changes are there already, and a person decides on them."""
    entries: list[EffectEntry]
    along: str = ""
    """What is applied without a choice, in words: new ignored files, built output, files that need no approval."""
    along_waits: bool = False
    """`along` is dropped if a person rejects the proposal."""
    never: str = ""
    """What is dropped whatever is decided, in words (`docs/explanation/layers.md`)."""


class EntryChoice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A person's choice for an entry that is not accepted exactly as it is proposed."""

    skip: bool = False
    hunks: list[int] | None = None
    """The indexes of the accepted hunks. None means all of them."""
    hunk_reasons: dict[int, str] = {}
    """Why a hunk was skipped, by its index."""
    cuts: dict[int, list[int]] = {}
    """How hunks were split, as in `Decide`: `hunks` and `hunk_reasons` then count the parts."""
    text: str | None = None
    """The person's own text, instead of the proposed one."""
    reason: str = ""
    """Why it is skipped, or was changed."""


class EntryDecided(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The decision on an entry that was not accepted exactly as it was proposed."""

    skipped: bool = False
    taken: list[int] | None = None
    """The indexes of the accepted hunks. None means all of them, or none if it was skipped."""
    left: dict[int, str] = {}
    """Why a hunk was skipped, by its index, if a reason was given."""
    cuts: dict[int, list[int]] = {}
    """How hunks were split, as in `Decide`."""
    after: str | None = None
    """Blob of the content that is applied instead of the proposed one."""
    edited: bool = False
    """Whether it is the person's own text."""
    reason: str = ""
