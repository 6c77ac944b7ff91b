"""The approved content of guarded files, as the journal's events tell it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..protocol import FileChanged, GuardApproved, GuardSealed, Stamped

_NOT_BY_A_DECISION = ("command", "background")
"""What these change is approved by a `GuardApproved` of its own, or not at all."""


@dataclass(slots=True)
class SealFacts:
    """The newest seal and what was approved since."""

    seal: str | None = None
    """Blob of the approved marks; None: nothing was sealed."""
    not_held: list[str] = field(default_factory=list[str])
    written: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """Path to blob of what was written since with approval; None: removed."""
    kept: dict[str, GuardApproved] = field(default_factory=dict[str, GuardApproved])
    """Changes of commands that a person kept."""

    def apply(self, stamped: Stamped) -> None:
        """Take in the next event."""
        match stamped.event:
            case GuardSealed(seal=seal, not_held=not_held):
                self.seal, self.not_held = seal, not_held
                self.written.clear()
                self.kept.clear()
            case GuardApproved() as approved if self.seal is not None:
                self.kept[approved.path] = approved
                self.written.pop(approved.path, None)
            case FileChanged(by=by, path=path, after=after) if self.seal is not None and by not in _NOT_BY_A_DECISION:
                self.written[path] = after
                self.kept.pop(path, None)
            case _:
                pass
