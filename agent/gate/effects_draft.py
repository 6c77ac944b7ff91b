"""The draft of a proposal about what a command would change: its entries, and the rows behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .text_diff import split_bytes

if TYPE_CHECKING:
    from ..host.files.file_states import FileState
    from ..layers.effect_classes import Class
    from ..protocol import EffectEntry
    from ..protocol.text.hunks import Split


class EntryDraft(msgspec.Struct, frozen=True, kw_only=True):
    """One entry, with what the gate needs to decide on it."""

    shown: EffectEntry
    kind: Class
    """What its decision depends on."""
    paths: tuple[str, ...] = ()
    """The paths that it changes, relative to the workspace."""
    before: FileState | None = None
    """The text before the change, or None if it is not shown as text."""
    after: bytes | None = None
    """The proposed text, or None if the file is deleted, or not shown as text."""

    @property
    def parts(self) -> Split | None:
        """The hunks that can be accepted one by one. None means that it is accepted or skipped as a whole."""
        if self.before is None or self.after is None or not self.shown.hunks:
            return None
        return split_bytes(self.before, self.after)


class EffectsDraft(msgspec.Struct, frozen=True, kw_only=True):
    """The part of what an ended command would change that somebody has to decide on."""

    tool: str = "run_command"
    command: str
    heading: str = ""
    """Why the gate asks, if no command waits for the decision."""
    entries: tuple[EntryDraft, ...]
    along: str = ""
    """What is applied without a choice, in words."""
    along_waits: bool = False
    """`along` is dropped if a person rejects the proposal."""
    never: str = ""
    """What is dropped whatever is decided, in words."""
    rows: bytes = b""
    """Exactly what would be applied, encoded for the digest with those of all contents."""

    @property
    def digested(self) -> list[bytes]:
        """What the digest covers: the command, all that is shown, and all that would be applied."""
        shown = msgspec.json.encode([entry.shown for entry in self.entries])
        words = f"{self.along}\0{self.never}" if self.never else self.along
        return [b"effects", self.command.encode(), shown, words.encode(), self.rows]
