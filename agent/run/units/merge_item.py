"""Plan the merge of what an item changed with files that changed in the run's tree meanwhile."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ...gate.three_way_merge import merge_states
from ...host.files.file_states import stored_state
from ...layers.layer_effects import IN_MEMORY, Effect, Side, bytes_at
from ...layers.open_below import FOLDER

if TYPE_CHECKING:
    from ...journal.blobs import Blobs
    from ...layers.effect_classes import ClassedEffect
    from ...layers.layer import Layer
    from ...layers.run_layers import Listed

_UNREVIEWED = frozenset[str]({"bytecode", "built", "ignored_new", "git"})
"""Classes whose changes are not merged: the files in the run's tree stay."""


class Replaced(NamedTuple):
    """What an earlier merge of the run replaced at a path."""

    at_ns: int
    """When it was replaced: the change time of what is there since, as the file system gives it."""
    side: Side | None
    """None means that nothing was there."""


class MergePlan(NamedTuple):
    """What is applied to the run's tree."""

    listed: Listed
    """The changes of the item, joined with those of others."""
    merged: list[str]
    """Paths of files that both sides changed."""
    conflicts: list[str]
    """A line for each conflict."""


def plan_merge(listed: Listed, layer: Layer, replaced: Mapping[str, Sequence[Replaced]], blobs: Blobs) -> MergePlan:
    """Plan a merge by file, and by line where both sides changed a text. Raises OSError.

    `listed`: what the item changed in `layer`, against the run's tree as it is now. `replaced`: what earlier merges
    replaced. `blobs`: has the contents of these.
    """
    contents, merged, conflicts = dict(listed.contents), list[str](), list[str]()
    merge = _Merge(layer, replaced, blobs, contents)
    groups = [group for group in listed.groups if group.kind != "git"]
    for number, group in enumerate(groups):
        entries = list["ClassedEffect"]()
        for entry in group.entries:
            effect = entry.effect
            if not merge.is_needed(effect):
                entries.append(entry)
            elif group.kind not in _UNREVIEWED and not _is_folder(effect):
                found = merge.joined(effect)
                if isinstance(found, str):
                    conflicts.append(f"{effect.path}: {found}")
                else:
                    merged.append(effect.path)
                    entries.append(entry._replace(effect=found))
        groups[number] = group._replace(entries=tuple(entries))
    groups = [group for group in groups if group.entries]
    return MergePlan(listed._replace(groups=groups, contents=contents, git=[]), merged, conflicts)


class _Merge:
    def __init__(
        self,
        layer: Layer,
        replaced: Mapping[str, Sequence[Replaced]],
        blobs: Blobs,
        contents: dict[str, bytes],
    ) -> None:
        self._layer, self._replaced, self._blobs, self._contents = layer, replaced, blobs, contents

    def _base(self, path: str) -> Replaced | None:
        """Return what the item saw at a path that a merge replaced since.

        Returns None if no merge did, or it is not known.
        """
        stamp = self._layer.older.get(os.fsencode(path), self._layer.stamp_ns)
        base = next((one for one in self._replaced.get(path, ()) if one.at_ns >= stamp), None)
        if base is None or (base.side is not None and base.side.ctime_ns >= stamp):
            return None  # the user changed it before
        return base

    def is_needed(self, effect: Effect) -> bool:
        """Return whether the run's tree may not have what the item saw."""
        base = self._base(effect.path)
        return bool(effect.conflict) or (base is not None and effect.before is None and base.side is not None)

    def joined(self, effect: Effect) -> Effect | str:
        """Return the effect on the run's tree as it is now, or why it cannot be joined."""
        base, now, after = self._base(effect.path), effect.before, effect.after
        if base is None:
            return effect.conflict
        if why := _why_not(base.side, now, after):
            return why
        assert base.side is not None and now is not None and after is not None  # `_why_not` looked
        if base.side.digest == now.digest:
            return replace(effect, conflict="")
        try:
            texts = [self._blobs.load(base.side.digest), self._now(effect.path), self._after(effect.path, after)]
        except KeyError:
            return effect.conflict
        if hashlib.sha256(texts[1]).hexdigest() != now.digest:
            return "it is being changed in the run's tree"
        name = Path(effect.path)
        joined = merge_states(stored_state(name, name, texts[0]), stored_state(name, name, texts[1]), texts[2])
        if joined is None:
            return "it is not text, and both sides changed it"
        data, overlaps = joined
        if overlaps:
            return f"{overlaps} of its changes overlap with changes in the run's tree"
        self._contents[effect.path] = data
        runs = now.executable if after.executable == base.side.executable else after.executable
        made = Side(type="file", digest=hashlib.sha256(data).hexdigest(), size=len(data), executable=runs)
        return replace(effect, after=made, conflict="")

    def _now(self, path: str) -> bytes:
        folder = os.open(self._layer.workspace, FOLDER | os.O_CLOEXEC)
        try:
            return bytes_at(folder, os.fsencode(path))
        finally:
            os.close(folder)

    def _after(self, path: str, side: Side) -> bytes:
        known = self._contents.get(path)
        if known is not None:
            return known
        with self._layer.written() as written:
            return written.load(path, side)


def _why_not(base: Side | None, now: Side | None, after: Side | None) -> str:
    """Return why three sides of a path cannot be joined by lines, or empty if it can be tried."""
    if now is None:
        return "it was removed from the run's tree"
    if base is None:
        return "it was created in the run's tree too"
    if after is None:
        return "it changed in the run's tree, and the item removed it"
    if {base.type, now.type, after.type} != {"file"}:
        return "a link changed on both sides"
    too_large = max(base.size, now.size, after.size) > IN_MEMORY
    return "it is too large to be joined, and both sides changed it" if too_large else ""


def _is_folder(effect: Effect) -> bool:
    return all(side is None or side.type == "folder" for side in (effect.before, effect.after))
