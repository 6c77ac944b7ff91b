"""A proposal for a file on a stage: its contents in a real journal, its diff the gate's own."""

from __future__ import annotations

from pathlib import Path

from painted import until
from textual.pilot import Pilot

from rundry.agent import CommandEffects, Decide, EffectEntry, ProposalOpened, ProposalRebased
from rundry.agent.gate.text_diff import split_bytes, unified
from rundry.agent.host.files.file_states import FileState
from rundry.agent.journal.journal import Journal

from ..played_events import proposal, spec
from ..screens import Stage

OLD = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(12))
NEW = (
    OLD.replace("return 1\n", "return 'one'\n")
    .replace("return 6\n", "return 'six'\n")
    .replace("return 11\n", "return 'eleven'\n")
)
"""Three hunks: in f1, f6 and f11."""


class GateStage(Stage):
    """`open` a proposal, press keys, read `decided`."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.journal = Journal.create(folder / "r1.db", spec(workspace=str(folder)))
        self.link.journal = self.journal  # type: ignore[assignment]

    @property
    def decided(self) -> list[Decide]:
        return [command for command in self.link.commands if isinstance(command, Decide)]

    def change(self, old: str | None = OLD, new: str = NEW, *, path: str = "calc.py") -> dict[str, object]:
        """The fields that the gate fills from the two contents."""
        data = b"" if old is None else old.encode()
        before = FileState(path=Path(path), real=Path(path), exists=old is not None, data=data)
        parts = split_bytes(before, new.encode())
        assert parts is not None
        return {
            "diff": unified(path, before, new.encode(), parts),
            "before": None if old is None else self.journal.blobs.keep(data),
            "after": self.journal.blobs.keep(new.encode()),
            "hunks": len(parts.hunks),
            "added": parts.added,
            "removed": parts.removed,
        }

    def edit(self, number: int = 1, *, old: str | None = OLD, new: str = NEW, **changes: object) -> ProposalOpened:
        fields = self.change(old, new, path=str(changes.get("path", "calc.py")))
        asks = ["edits wait in mode ask"]
        return proposal(
            number, **{"tool": "edit_file", "command": None, "path": "calc.py", "asks": asks, **fields, **changes}
        )

    def text_entry(self, path: str, old: str | None, new: str | None, **changes: object) -> EffectEntry:
        """An entry with text; its contents are in the journal."""
        data = b"" if old is None else old.encode()
        before = FileState(path=Path(path), real=Path(path), exists=old is not None, data=data)
        parts = split_bytes(before, None if new is None else new.encode())
        assert parts is not None
        fields: dict[str, object] = {
            "path": path,
            "change": "added" if old is None else "deleted" if new is None else "changed",
            "is_text": True,
            "before": None if old is None else self.journal.blobs.keep(data),
            "after": None if new is None else self.journal.blobs.keep(new.encode()),
            "hunks": 0 if new is None else len(parts.hunks),
            "added": parts.added,
            "removed": parts.removed,
            **changes,
        }
        return EffectEntry(**fields)  # type: ignore[arg-type]

    def effects(self, *entries: EffectEntry, number: int = 1, **changes: object) -> ProposalOpened:
        """A proposal about what a command would change."""
        own = {name: changes.pop(name) for name in ("command", "along", "along_waits") if name in changes}
        shown = CommandEffects(**{"command": "make dist", "entries": list(entries), **own})  # type: ignore[arg-type]
        fields: dict[str, object] = {
            "command": None,
            "rule": None,
            "asks": ["the gate is set to `effects`: what commands change waits"],
            "danger": any(entry.danger for entry in entries),
            "hunks": sum(entry.hunks for entry in entries),
            "added": sum(entry.added for entry in entries),
            "removed": sum(entry.removed for entry in entries),
            "effects": shown,
        }
        return proposal(number, **{**fields, **changes})

    def rebased(self, number: int = 1, *, old: str = OLD, new: str = NEW, **changes: object) -> ProposalRebased:
        fields = {"proposal_id": f"p{number}", "digest": "digest-r", "why": "your edit of 12:04:31"}
        return ProposalRebased(**{**fields, **self.change(old, new), **changes})  # type: ignore[arg-type]

    async def opened(self, pilot: Pilot, *events: object) -> None:
        """Play them, and wait until the first of their proposals takes keys, as the last of them has it."""
        named = [e for e in events if isinstance(e, ProposalOpened | ProposalRebased)]
        digest = next(e.digest for e in reversed(named) if e.proposal_id == named[0].proposal_id)
        self.play(*events)
        await until(pilot, lambda: self.takes_keys(digest))

    def words(self) -> list[str]:
        """What is painted, without the edge of the gate and the ends of lines."""
        return self.text().replace("▌", " ").split()

    def takes_keys(self, digest: str | None = None) -> bool:
        gate = self.screen.gate
        painted = gate.arming.painted
        return painted is not None and digest in (None, painted.digest) and gate.has_focus_within


__all__ = ["NEW", "OLD", "GateStage"]
