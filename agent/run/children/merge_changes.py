"""Merge what a child run staged with what its files got in the workspace meanwhile (decision 0043, section 6)."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...gate.three_way_merge import merge_states
from ...host.file_errors import UnreadableFile
from ...host.files.file_states import read_state, stored_state
from ...layers.effect_classes import ClassedEffect, Group
from ...layers.layer_effects import IN_MEMORY
from ...protocol import FileChanged
from ...step.tool_calls.effect_entries import storable_path

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...layers.layer_effects import Effect
    from ...layers.run_layers import Listed

MERGED = "it changed meanwhile: both changes are in it"
"""Why an entry is shown, for the person."""


def merge_changes(listed: Listed, journal: Journal, root: Path) -> Listed:
    """Merge each changed text that is in conflict, if the lines do not overlap. The others stay in conflict.

    `journal`: that of the child, which has the text that the child began with. `root`: the workspace.
    """
    first = dict[str, str | None]()
    for stamped in journal.read_types((FileChanged,)):
        if isinstance(stamped.event, FileChanged) and stamped.event.staged:
            first.setdefault(stamped.event.path, stamped.event.before)
    contents, groups = dict(listed.contents), list[Group]()
    for group in listed.groups:
        entries = list[ClassedEffect]()
        for entry in group.entries:
            base = first.get(storable_path(entry.effect.path))
            merged = None
            if base is not None and entry.effect.conflict and group.kind in ("ordinary", "protected"):
                merged = _merged(entry.effect, journal.blobs.load(base), contents.get(entry.effect.path), root)
            if merged is None:
                entries.append(entry)
                continue
            effect, data, is_changed = merged
            contents[effect.path] = data
            if is_changed:
                entries.append(entry._replace(effect=effect, why="; ".join(filter(None, (entry.why, MERGED)))))
        if entries:
            groups.append(group._replace(entries=tuple(entries)))
    return listed._replace(groups=groups, contents=contents)


def _merged(effect: Effect, base: bytes, staged: bytes | None, root: Path) -> tuple[Effect, bytes, bool] | None:
    """Return the effect without its conflict, its new content, and whether that differs from the file of now.

    None if both changed the same lines, or it is not a text that both only changed.
    """
    before, after, path = effect.before, effect.after, Path(storable_path(effect.path))
    if before is None or after is None or staged is None or before.executable != after.executable:
        return None
    if before.type != "file" or after.type != "file" or before.size > IN_MEMORY:
        return None
    try:
        now = read_state(root / effect.path, IN_MEMORY, beneath=root)
    except (UnreadableFile, OSError):
        return None
    merged = merge_states(stored_state(path, root / effect.path, base), now, staged)
    if now.sha256 != before.digest or merged is None or merged[1]:
        return None
    data = merged[0]
    side = replace(after, digest=hashlib.sha256(data).hexdigest(), size=len(data))
    return replace(effect, after=side, conflict=""), data, data != now.data
