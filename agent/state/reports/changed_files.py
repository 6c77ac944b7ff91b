"""List the files that a run changed, each with its content before and after, and who decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...protocol import CommandEffects, FileChanged, ProposalDecided, ProposalOpened, Undone, has_own_tree

if TYPE_CHECKING:
    from ...journal.journal import Journal

_BY = {"command": "by a command", "background": "by a background command", "person": "edited by you"}


@dataclass(slots=True)
class RunFile:
    """A changed file: its content before the first and after the newest change of the run."""

    path: str
    before: str | None
    """Name of the blob. None means that the file did not exist, or was too large to store."""
    after: str | None
    kept: str = ""
    """Why the newest undo did not restore it; empty if it did."""
    who: str = ""
    """The decision on the newest change: `approved by you`, `allowed: the gate is set to `edits``, `by a command`."""
    is_stored: bool = True
    """Whether the journal has a content of the newest change; else the file is too large for it."""

    @property
    def is_undone(self) -> bool:
        """Whether the recorded content is the same as before the run."""
        return self.before == self.after and self.is_stored


def changed_files(journal: Journal) -> list[RunFile]:
    """Return the files in the order of their first change. Raises JournalError."""
    found: dict[str, RunFile] = {}
    opened: dict[str, str] = {}
    decided: dict[str, str] = {}
    effects: dict[str, CommandEffects] = {}
    of_command: dict[str, str] = {}
    for stamped in journal.read_types((FileChanged, ProposalOpened, ProposalDecided, Undone)):
        match stamped.event:
            case ProposalOpened(proposal_id=name, path=str() as path):
                opened[name] = path
            case ProposalOpened(proposal_id=name, effects=CommandEffects() as shown):
                effects[name] = shown
            case ProposalDecided(proposal_id=name) as event if name in effects:
                of_command |= _approved_in(effects.pop(name), event)
            case ProposalDecided(proposal_id=name) as event if name in opened and event.decision != "reject":
                decided[opened.pop(name)] = _who(event)
            case FileChanged() if has_own_tree(stamped.work):
                pass
            case FileChanged(path=path, by=by) as event if by not in ("undo", "restore") or path in found:
                file = found.setdefault(path, RunFile(path, event.before, event.after))
                file.after, file.kept = event.after, ""
                file.is_stored = by in ("undo", "restore") or (event.before, event.after) != (None, None)
                if by not in ("undo", "restore"):
                    approved = of_command.pop(path, "") if by == "command" else ""
                    file.who = approved or _BY.get(by, decided.get(path, ""))
            case Undone(kept=kept):
                for path, _, why in (line.partition(": ") for line in kept):
                    if path in found:
                        found[path].kept = why
            case _:
                pass
    return list(found.values())


def _approved_in(effects: CommandEffects, event: ProposalDecided) -> dict[str, str]:
    """Return who decided on each file that a command changed and a person accepted."""
    if event.by != "person" or event.decision == "reject":
        return {}
    found = dict[str, str]()
    for at, entry in enumerate(effects.entries):
        own = event.entries.get(at)
        if own is None or not own.skipped:
            found[entry.path] = f"{_BY['command']}, approved by you{' in part' if own is not None else ''}"
    return found


def _who(event: ProposalDecided) -> str:
    if event.by == "person":
        return "approved by you" if event.decision == "approve" else "approved by you in part"
    return f"allowed: {event.reason}" if event.reason else "allowed"
