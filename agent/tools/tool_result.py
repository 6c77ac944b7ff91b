"""Results of tool calls: a bounded text for the model, and the details for the journal."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..host.processes.processes import Finished
from ..protocol.messages import ImageRef, SeenContent


class Touched(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a tool changed."""

    path: str
    """Relative to the workspace."""
    before: str | None
    """Blob of the old bytes, or None if the file did not exist."""
    after: str | None
    added: int = 0
    removed: int = 0
    """Number of removed lines."""


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one call."""

    ok: bool
    text: str
    """Text for the model."""
    summary: str = ""
    """A few words for a folded line on the screen: `84 lines`, `exit 1`."""
    full: str | None = None
    """Blob of the whole output, if `text` was shortened."""
    files: list[Touched] = []
    finished: Finished | None = None
    """Outcome of a command that ran."""
    stale: bool = False
    """Nothing was written: the file changed between the decision and the write."""
    disturbed: list[str] = []
    """What the command changed and was not applied."""
    seen: SeenContent | None = None
    """What the model sees of a file, or wrote into it."""
    images: list[ImageRef] = []
    """Images that follow the results of the answer."""
    stays: str = ""
    """Why what a child run changed stays in its stage."""

    def with_notes(self, notes: Sequence[str]) -> ToolResult:
        """Return the same result with more notes for the model."""
        if not notes:
            return self
        return msgspec.structs.replace(self, text="\n".join([self.text, *notes]))


def failure(text: str, summary: str = "failed") -> ToolResult:
    """Return a failed result with an error that the model can act on."""
    return ToolResult(ok=False, text=text, summary=summary)
