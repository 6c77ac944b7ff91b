"""The approved content of guarded files, derived from events."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..protocol import ChangesUndecided, FileChanged, GuardApproved, GuardSealed, HandoffClosed, Stamped

_NOT_BY_A_DECISION = ("command", "background")
"""Changes by these are approved only by a separate `GuardApproved`."""


@dataclass(slots=True)
class SealFacts:
    """The newest seal and the content approved since then."""

    seal: str | None = None
    """Blob of the approved digests; None: nothing was sealed."""
    asked_only: bool = False
    """Only what the user named was sealed."""
    not_held: list[str] = field(default_factory=list[str])
    written: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """Path to the blob of content approved since then; None: the file was removed."""
    kept: dict[str, GuardApproved] = field(default_factory=dict[str, GuardApproved])
    """Changes of commands that a person kept."""
    undecided: list[str] = field(default_factory=list[str])
    """Guarded files that changed in the user's folder, and that nobody decided about."""
    unreviewed: list[str] = field(default_factory=list[str])
    """The same for files that git or another program runs or reads as settings."""

    def apply(self, stamped: Stamped) -> None:
        """Fold the next event into this state."""
        match stamped.event:
            case GuardSealed(seal=seal, not_held=not_held, asked_only=asked_only):
                self.seal, self.not_held, self.asked_only = seal, not_held, asked_only
                self.written.clear()
                self.kept.clear()
            case ChangesUndecided(guarded=guarded, protected=protected):
                self.undecided, self.unreviewed = guarded, protected
            case HandoffClosed():
                self.unreviewed = []  # the hand-off named them
            case GuardApproved() as approved if self.seal is not None:
                self.kept[approved.path] = approved
                self.written.pop(approved.path, None)
            case FileChanged(by=by, path=path, after=after) if self.seal is not None and by not in _NOT_BY_A_DECISION:
                self.written[path] = after
                self.kept.pop(path, None)
            case _:
                pass
