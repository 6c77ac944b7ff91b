"""Show the undecided changes that a result rests on as one proposal, with their diffs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...gate.effects_draft import EffectsDraft, EntryDraft
from ...gate.text_diff import split_bytes
from ...host.files.file_content import text_format_of
from ...host.files.file_states import stored_state
from ...layers.effect_rows import EffectRow, encode_rows
from ...layers.layer_effects import IN_MEMORY, Side, bytes_at, side_at
from ...layers.open_below import FOLDER
from ...protocol import AcceptedPath, EffectEntry
from ...verdict.judge.judge import decided_of

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...protocol.effects import EntryChange
    from ...verdict.judge.decided_now import DecidedNow
    from ...verdict.judge.judge_case import Case
    from ...verdict.judge.past_files import Contents, PathPast

RESTS = "The check passes only with these changes, and nobody decided on them"
OPEN = "Nobody decided on these changes, and no view can show whether the check needs them"
KEEP = "Nobody decided on these changes, which are in the workspace"


class UndecidedDraft(NamedTuple):
    """A proposal, and what is accepted with each of its entries."""

    effects: EffectsDraft
    paths: list[AcceptedPath]


async def undecided_draft(case: Case, paths: Sequence[str]) -> UndecidedDraft | None:
    """Return the proposal about these paths, or None if nothing of them is undecided any more."""
    now = await asyncio.to_thread(decided_of, case)
    title = RESTS if case.views is not None else OPEN
    return await asyncio.to_thread(draft_of, now, paths, case.root, case.journal, title=title)


def draft_of(
    now: DecidedNow, paths: Sequence[str], workspace: Path, journal: Journal, *, title: str
) -> UndecidedDraft | None:
    """Return the proposal about those of these paths that are undecided, or None if there are none. Reads the disk.

    `workspace`: where the files are, or the view of an open unit.
    """
    decided, contents = now
    undecided = {one.path for one in decided.undecided}
    entries, accepted, rows = list[EntryDraft](), list[AcceptedPath](), list[EffectRow]()
    root = os.open(workspace, FOLDER | os.O_CLOEXEC)
    try:
        with journal.transaction():
            for path in paths:
                if path in undecided and path in decided.view:
                    seen, past = side_at(root, os.fsencode(path)), decided.view[path]
                    side = None if seen is None else seen.side
                    shown = _entry(journal, root, path, past, side, contents)
                    entries.append(EntryDraft(shown=shown, kind="protected", paths=(path,)))
                    digest = "" if side is None else side.digest
                    accepted.append(AcceptedPath(path=path, digest=digest, seen=shown.is_text))
                    rows.append(EffectRow(path=path, before=past.side, after=side))
    finally:
        os.close(root)
    effects = EffectsDraft(command="", heading=title, entries=tuple(entries), rows=encode_rows(rows))
    return UndecidedDraft(effects, accepted) if entries else None


def _entry(journal: Journal, root: int, path: str, past: PathPast, now: Side | None, contents: Contents) -> EffectEntry:
    change: EntryChange = "added" if past.side is None else "deleted" if now is None else "changed"
    sides = [side for side in (past.side, now) if side is not None]
    before = _before(path, past, contents)
    after = bytes_at(root, os.fsencode(path)) if now is not None and _is_small(now) else None
    is_text = (
        all(_is_small(side) for side in sides)
        and (before is not None or past.side is None)
        and all(text_format_of(data).encoding for data in (before, after) if data is not None)
    )
    state = stored_state(Path(path), Path(path), before)
    parts = split_bytes(state, after) if is_text else None
    return EffectEntry(
        path=path,
        kind="link" if any(side.type == "link" for side in sides) else "file",
        change=change,
        danger=True,
        is_text=parts is not None,
        before=journal.blobs.keep(before) if parts is not None and before is not None else None,
        after=journal.blobs.keep(after) if parts is not None and after is not None else None,
        added=0 if parts is None else parts.added,
        removed=0 if parts is None else parts.removed,
        size_before=0 if past.side is None else past.side.size,
        size=0 if now is None else now.size,
    )


def _is_small(side: Side) -> bool:
    return side.type == "file" and side.size <= IN_MEMORY


def _before(path: str, past: PathPast, contents: Contents) -> bytes | None:
    if past.data is not None or past.side is None:
        return past.data
    found = contents.find(path, past.side)
    return found if isinstance(found, bytes) else None
