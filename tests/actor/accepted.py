"""What the journals of a run allow: the rows that were accepted, and the edits that were written."""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rundry.agent.journal.journal import Journal
from rundry.agent.layers.effect_rows import decode_git, decode_rows
from rundry.agent.layers.git.git_rows import GitChanges, GitRow, HeadRow, IndexRow, RefRow, StashRow, StateRow
from rundry.agent.layers.layer_effects import Side
from rundry.agent.protocol import (
    EffectsAccepted,
    FileChanged,
    PassFinished,
    PassStarted,
    ProposalDecided,
    ProposalOpened,
    Stamped,
    ToolFinished,
    UndoAccepted,
    has_own_tree,
)

from .looking import Cell, Value

_BEGAN = re.compile(r"began (model \d+-\d+\.) (\d+\.\d+)")
_ANY = "any"
"""In place of the permission to run a file: an event does not have it."""


@dataclass
class Edge:
    """A cell may once become `after` if it is `before`. None stands for a cell that does not exist."""

    at: float
    before: Value | None
    after: Value | None
    is_undo: bool = False
    used: bool = False


@dataclass
class Accepted:
    """All that was accepted, by cell."""

    edges: dict[Cell, list[Edge]] = field(default_factory=lambda: defaultdict(list))
    stashed: set[str] = field(default_factory=set)
    """Entries of the stash that may be made."""
    dropped: set[str] = field(default_factory=set)
    """Those that may go."""
    began: dict[str, float] = field(default_factory=dict)
    """When commands began, by their marks, as they printed it."""

    def allows(self, cell: Cell, before: Value | None, after: Value | None, at: float) -> list[Edge] | None:
        """Use up the edges that lead from one value to another, and return them, or None if there are none."""
        edges = [edge for edge in self.edges.get(cell, ()) if not edge.used and edge.at <= at]
        found = _path(edges, before, after, 6)
        for edge in found or ():
            edge.used = True
        return found


def _path(edges: Sequence[Edge], before: Value | None, after: Value | None, most: int) -> list[Edge] | None:
    if most == 0:
        return None
    for edge in edges:
        if _is(edge.before, before):
            if _is(edge.after, after):
                return [edge]
            rest = _path([one for one in edges if one is not edge], edge.after, after, most - 1)
            if rest is not None:
                return [edge, *rest]
    return None


def _is(one: Value | None, other: Value | None) -> bool:
    if one is None or other is None:
        return one is other
    if one[0] == other[0] == "file" and _ANY in (one[1], other[1]):
        return one[2] == other[2]
    return one == other


def read_accepted(journals: Sequence[Path]) -> Accepted:
    """Read what all these journals accepted."""
    found = Accepted()
    for path in journals:
        journal = Journal.open(path)
        try:
            _add(found, journal)
        finally:
            journal.close()
    return found


def _add(found: Accepted, journal: Journal) -> None:
    shown = dict[str, ProposalOpened]()
    for stamped in _in_the_workspace(journal.read()):
        match stamped.event:
            case EffectsAccepted() | UndoAccepted() as event:
                is_undo = isinstance(event, UndoAccepted)
                for row in decode_rows(journal.blobs.load(event.rows)):
                    edge = Edge(stamped.at, _value(row.before), _value(row.after), is_undo)
                    found.edges[Cell("file", row.path)].append(edge)
                for repository in decode_git(journal.blobs.load(event.git)) if event.git is not None else ():
                    _add_git(found, repository, stamped.at, is_undo=is_undo)
            case FileChanged(staged=False, by="model" | "command" | "undo") as event:
                _add_edit(found, event.path, event.before, event.after, is_undo=event.by == "undo")
            case ToolFinished(result=result):
                found.began.update((mark, float(at)) for mark, at in _BEGAN.findall(result))
            case ProposalOpened(effects=None) as event:
                shown[event.proposal_id] = event
            case ProposalDecided(decision="approve" | "part") as event if event.proposal_id in shown:
                proposal = shown[event.proposal_id]
                if proposal.path is not None and proposal.command is None:
                    _add_edit(found, proposal.path, proposal.before, event.after or proposal.after)
            case _:
                pass


def _add_edit(found: Accepted, path: str, before: str | None, after: str | None, *, is_undo: bool = False) -> None:
    """Add an edit. It is recorded after it was written, so its time says nothing."""
    values = (None if one is None else ("file", _ANY, one) for one in (before, after))
    found.edges[Cell("file", path)].append(Edge(0.0, *values, is_undo))


def _in_the_workspace(events: Sequence[Stamped]) -> Iterator[Stamped]:
    """Leave out what was written in a layer or a worktree: of passes, tries, and items that are not merged."""
    in_pass = False
    for stamped in events:
        match stamped.event:
            case PassStarted(layer=layer):
                in_pass = layer is not None
            case PassFinished():
                in_pass = False
            case FileChanged() | ProposalOpened() if in_pass or has_own_tree(stamped.work):
                continue
            case _:
                pass
        yield stamped


def _value(side: Side | None) -> Value | None:
    if side is None or side.type == "folder":
        return None
    return ("link", side.digest) if side.type == "link" else ("file", "x" if side.executable else "-", side.digest)


def _add_git(found: Accepted, repository: GitChanges, at: float, *, is_undo: bool) -> None:
    for row in repository.rows:
        if isinstance(row, StashRow):
            (found.stashed if row.is_new else found.dropped).add(row.commit)
            continue
        for cell, before, after in _cells(row):
            # A step that fails takes back those before it.
            for one, other in ((before, after), (after, before)):
                found.edges[cell].append(Edge(at, one, other, is_undo))


def _cells(row: GitRow) -> Iterator[tuple[Cell, Value | None, Value | None]]:
    match row:
        case RefRow():
            yield Cell("ref", row.name), (row.before,) if row.before else None, (row.after,) if row.after else None
        case HeadRow():
            yield Cell("head", ""), (row.before,), (row.after,)
        case IndexRow():
            before, after = (
                tuple(word for one in side for word in (str(one.stage), one.mode, one.id)) or None
                for side in (row.before, row.after)
            )
            yield Cell("index", os.fsdecode(row.path)), before, after
        case StateRow():
            for name in {*row.before, *row.after}:
                yield Cell("state", name), _digest(row.before.get(name)), _digest(row.after.get(name))
        case StashRow():
            return


def _digest(data: bytes | None) -> Value | None:
    return None if data is None else (hashlib.sha256(data).hexdigest(),)
