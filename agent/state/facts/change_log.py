"""The changes of a run as a log: edits of files, and commands with the files that they changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile

import msgspec

from ...protocol import NotStored, digest_of_content
from .packed_log import PackedLog


@dataclass(frozen=True, slots=True)
class FileEffect:
    """Effect of a change on one file."""

    before: str | None
    """Blob of the old content, or None if there was no file, or it is not stored."""
    after: str | None
    added: int = 0
    removed: int = 0
    folders: tuple[str, ...] | None = None
    """Folders that were made for it, or None if it is not known."""
    unstored_before: NotStored | None = None
    """The old content, if the journal does not have it."""
    unstored_after: NotStored | None = None
    is_seen: bool = False
    """Whether a person approved exactly this change as a diff."""

    @property
    def old(self) -> str | None:
        """SHA-256 of the old content, or None if there was no file, or the content is not known."""
        return digest_of_content(self.before, self.unstored_before)

    @property
    def new(self) -> str | None:
        """SHA-256 of the new content."""
        return digest_of_content(self.after, self.unstored_after)


@dataclass(frozen=True, slots=True)
class AppliedEffects:
    """What a command changed in its layer and was applied. An undo reverts exactly this."""

    order: str
    rows: str
    """Blob of the rows."""
    shown: int
    """Number of rows that are the files of the change; they come first."""
    failed: tuple[int, ...]
    """Numbers of the rows that were not applied."""
    git: str | None
    """Blob of what repositories gained."""
    failed_git: tuple[int, ...]
    """Numbers of the repositories that gained nothing."""
    also: tuple[str, ...]
    """What else was applied, in words, such as an install."""
    built: tuple[str, ...]
    """What programs built, in words: an undo leaves it."""
    in_place: bool = False
    """Whether it was written to the workspace itself, so that some of it may be somebody else's."""


@dataclass(slots=True)
class RecordedChange:
    """One change: an edit of one file, or a command with all files that it changed."""

    seq: int
    step: int | None
    command: str | None
    """The command line. None means an edit."""
    world: str | None
    """Snapshot of the workspace before the change: the last one before an edit, or a new one right before a command."""
    world_after: str | None = None
    """Snapshot right after a command."""
    files: dict[str, FileEffect] = field(default_factory=dict[str, FileEffect])
    """Changed files by path. Empty for a command whose changes are not known."""
    is_background: bool = False
    """Caused by a background command: found by a later look at the workspace, not at the end of the command."""
    effects: AppliedEffects | None = None
    """What it changed, path by path. None means that it is known from snapshots alone."""
    undone: list[str] = field(default_factory=list[str])
    """Files of it that were undone alone."""
    is_by_person: bool = False
    """A person in control ran the command."""

    @property
    def is_proven(self) -> bool:
        """Whether nobody else can have made some of it: it is an edit, or was applied from a layer."""
        return self.command is None or (self.effects is not None and not self.effects.in_place)

    @property
    def title(self) -> str:
        """Title for people: `edit src/calc.py`, or the command line."""
        return f"edit {', '.join(self.files)}" if self.command is None else self.command.strip()


@dataclass(slots=True, eq=False)
class ChangeLog(PackedLog[RecordedChange]):
    """List of changes with older ones packed."""

    packed: list[bytes | None] = field(default_factory=list[bytes | None])
    newest: list[RecordedChange] = field(default_factory=list[RecordedChange])

    def decoder(self) -> msgspec.msgpack.Decoder[list[RecordedChange]]:
        """Return the decoder for the changes of a chunk."""
        return _decoder()

    def after(self, seq: int) -> Sequence[RecordedChange]:
        """Return the changes after that position in the journal."""
        return [*takewhile(lambda change: change.seq > seq, reversed(self))][::-1]


@cache
def _decoder() -> msgspec.msgpack.Decoder[list[RecordedChange]]:
    return msgspec.msgpack.Decoder(list[RecordedChange])
