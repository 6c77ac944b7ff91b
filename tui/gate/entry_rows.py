"""The rows of the list of entries: files, folders that fold many files, and lines below them. No textual."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rundry.agent import along_lines, entry_notes

from .entry_choices import why_skipped

if TYPE_CHECKING:
    from rundry.agent import CommandEffects, EffectEntry

    from .pending_decision import PendingDecision

FOLDED_FROM = 21
"""Number of entries from which those of one folder are folded to one row."""
_MOST_FOLDERS = 12
_LEAST = 3
"""Entries of a folder that are worth a row of their own."""
_MOST_LINES = 3
"""Lines of what runs by itself that are shown without unfolding an entry."""
RowKind = Literal["entry", "folder", "note", "line", "along"]


@dataclass(frozen=True, slots=True)
class ListRow:
    """One row of the list, and what it stands for."""

    kind: RowKind
    key: str = ""
    """Names a row that can have the cursor."""
    entries: tuple[int, ...] = ()
    """The entries for which it stands."""
    text: str = ""
    depth: int = 0
    """How far it is set in."""


def list_rows(effects: CommandEffects, pending: PendingDecision) -> list[ListRow]:
    """Return the rows from top to bottom."""
    found = list[ListRow]()
    for folder, entries in _groups(effects.entries):
        if not folder:
            for at in entries:
                found += _rows_of(effects, pending, at, depth=0)
            continue
        key = f"folder {folder}"
        found.append(ListRow("folder", key, tuple(entries), folder))
        if key in pending.entries.unfolded:
            for at in entries:
                found += _rows_of(effects, pending, at, depth=1)
    return [*found, *(ListRow("along", text=line) for line in along_lines(effects))]


def entry_key(index: int) -> str:
    """Return the key of the row of an entry."""
    return f"entry {index}"


def unfolds(entry: EffectEntry) -> bool:
    """Return whether there are more lines about an entry than are shown at first."""
    return len(_first_lines(entry)) < len(_lines(entry))


def _lines(entry: EffectEntry) -> list[str]:
    return entry.lines if entry.kind == "git" else entry.lines[1:]


def _first_lines(entry: EffectEntry) -> list[str]:
    if entry.kind == "git":
        return [line for line in entry.lines if not line.startswith(" ")]
    return _lines(entry)[:_MOST_LINES]


def _rows_of(effects: CommandEffects, pending: PendingDecision, at: int, *, depth: int) -> Iterator[ListRow]:
    entry, key = effects.entries[at], entry_key(at)
    yield ListRow("entry", key, (at,), depth=depth)
    for note in entry_notes(entry):
        yield ListRow("note", entries=(at,), text=note, depth=depth)
    if reason := why_skipped(effects, pending, at):
        yield ListRow("line", entries=(at,), text=f"skipped: {reason}", depth=depth)
    for line in _lines(entry) if key in pending.entries.unfolded else _first_lines(entry):
        yield ListRow("line", entries=(at,), text=line, depth=depth)


def _groups(entries: Sequence[EffectEntry]) -> list[tuple[str, list[int]]]:
    """Return the entries in their order, those of one folder together; the empty folder: each has a row."""
    if len(entries) < FOLDED_FROM:
        return [("", list(range(len(entries))))]
    plain = [at for at, one in enumerate(entries) if one.kind in ("file", "link", "folder") and not entry_notes(one)]
    depth = max((entries[at].path.count("/") for at in plain), default=0)
    folders = _by_folder(entries, plain, depth)
    while len(folders) > _MOST_FOLDERS and depth > 1:
        depth -= 1
        folders = _by_folder(entries, plain, depth)
    large = {at: folder for folder, some in folders.items() if folder and len(some) >= _LEAST for at in some}
    found = list[tuple[str, list[int]]]()
    placed = set[str]()
    for at in range(len(entries)):
        folder = large.get(at, "")
        if not folder:
            found.append(("", [at]))
        elif folder not in placed:
            placed.add(folder)
            found.append((folder, folders[folder]))
    return found


def _by_folder(entries: Sequence[EffectEntry], among: Sequence[int], depth: int) -> dict[str, list[int]]:
    found = dict[str, list[int]]()
    for at in among:
        found.setdefault("/".join(entries[at].path.split("/")[:-1][:depth]), []).append(at)
    return found
