"""Compare the workspace before and after something that writes to it itself, and record what changed.

This is for runs without layers, and for commands outside of the sandbox. A change may be the user's own, so nothing is
restored by itself (docs/decisions/0036): what git or a tool runs by itself is handed to a person.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from collections.abc import Collection, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ...gate.policy import GUARDED
from ...host.protected_names import why_forbidden
from ...journal.encoding import recorded_text
from ...layers.direct_comparison import PathEntry, Tree, bytes_of, changes, digest_of_file
from ...layers.effect_classes import CACHE_TAG, Class, Group, Surroundings, classify
from ...layers.effect_rows import EffectRow, encode_rows, new_name
from ...layers.layer_effects import IN_MEMORY, Effect, Side, is_same, status_at
from ...layers.open_below import FOLDER
from ...layers.surroundings import read_surroundings
from ...layers.workspace_copies import and_above
from ...protocol import ChangedBy, EffectsAccepted, EffectsApplied, OutputsWritten, Snapshotted
from ...protocol.effects import EXECUTABLE
from ...protocol.text.counts import plural
from ...repo.protected_places import read_only_places
from ...sandbox.visible_programs import program_places
from .changed_in_place import ChangedInPlace, ProtectedChange
from .direct_look import WHOLE, Before, look, todo_commands, with_changed_since
from .file_events import FileContents, contents_of, file_changed
from .protected_changes import decide_protected

if TYPE_CHECKING:
    from ...gate.draft import CommandDraft
    from ...gate.guarded_paths import GuardedPaths
    from ...host.workspace_paths import Workspace
    from ...journal.journal import Journal
    from ...sandbox.sandbox import Sandbox
    from ...state.recorder import Events
    from ..resources.run_context import RunContext

MOST_SHOWN = 1_000
"""Most new files of one command that get an event each; of further ones no content is stored."""
_SHOWN = frozenset[Class]({"protected", "ignored_existed", "ordinary"})
"""Classes whose files are recorded one by one; the others are counted."""
_OBJECTS, _INFO = ".git/objects/", ".git/objects/info/"
_NOT_CHANGED = object()
_HIDDEN = "commands must not read or change it"
_RUNS = "`git rebase --continue` runs its commands"
_LINK_OF_GIT = "it is a link in a git folder, and git follows it"


async def look_before(ctx: RunContext, events: Events) -> Before:
    """Return the workspace before a command, with the contents of what the run wrote.

    What background commands changed until now is recorded, so that no change is missed between two comparisons.
    """
    if ctx.facts.changes.world is None:
        events.record(Snapshotted(world=None, layer=True))
    before = await look_now(ctx)
    seen = ctx.background.seen
    if seen is None or seen.only != before.only:
        return before
    found = await _found(ctx, seen, before, EVERYWHERE, "background")
    title = ctx.background.title
    ctx.background.look_from(before)
    return before._replace(earlier=_record(ctx, found, title, events, "background"))


async def look_now(ctx: RunContext) -> Before:
    """Return the workspace as it is now, with the contents of what the run wrote, or the user after the start."""
    before = await look(ctx.workspace, ctx.sandbox, _written(ctx))
    start = None if ctx.views is None or ctx.unit is not None else ctx.views.start
    if start is None:
        return before
    return await with_changed_since(ctx.workspace, before, start, ctx.facts.changes.unrecorded.outputs)


def _written(ctx: RunContext) -> list[str]:
    return [path for path, (_, newest) in ctx.facts.changes.files.items() if newest is not None]


class Reach(NamedTuple):
    """Where a command could write in the workspace."""

    read_only: Sequence[Path] = ()
    """Paths that the sandbox kept read-only."""
    given: Sequence[Path] = ()
    """Paths that somebody allowed it to write."""


EVERYWHERE = Reach()


async def reach_of(ctx: RunContext, draft: CommandDraft | None = None) -> Reach:
    """Return where a command can write. `draft`: the command, or None if it has no permissions."""
    given = () if draft is None else draft.writable
    if draft is not None and draft.unsandboxed:
        return Reach(given=given)
    return await asyncio.to_thread(reach_in, ctx.sandbox, ctx.workspace.root, given)


def reach_in(sandbox: Sandbox, root: Path, given: Sequence[Path]) -> Reach:
    """Return where a command in a sandbox can write. `given`: what it may write in addition. Blocks."""
    if sandbox.kind != "bubblewrap":
        return Reach(given=given)
    places = [*read_only_places(root), *program_places(root), *sandbox.hidden_below(root)]
    kept = [
        place
        for place in places
        if not any(place.is_relative_to(other) or other.is_relative_to(place) for other in given)
    ]
    real = Path(os.path.realpath(root))  # in a unit, the root is a link to its mount
    nested = [root / place.relative_to(real) for place in sandbox.nested_git(root, given)]
    return Reach([*kept, *nested], given)


@dataclass(slots=True)
class Found:
    """The differences, without those that have another author."""

    shown: list[EffectRow] = field(default_factory=list[EffectRow])
    folders: list[EffectRow] = field(default_factory=list[EffectRow])
    more: int = 0
    """Number of further files, which are only counted."""
    contents: dict[str, FileContents] = field(default_factory=dict[str, FileContents])
    counted: list[str] = field(default_factory=list[str])
    """What else changed, in words."""
    outputs: list[str] = field(default_factory=list[str])
    """Output that was written, and files that are only counted: what was there before is not known."""
    protected: list[ProtectedChange] = field(default_factory=list[ProtectedChange])
    names: list[str] = field(default_factory=list[str])
    """New names of hidden files."""


class Author(NamedTuple):
    """The data that shows who made a change, and whether somebody has to decide about it."""

    others: Mapping[str, object]
    """Path to the digest of what somebody else left there. None means nothing."""
    reach: Reach
    made: frozenset[str]
    """The files that the run made."""
    outputs: Set[str]
    """Folders and files with output that were written."""
    guard: GuardedPaths


async def record_changes(
    ctx: RunContext,
    before: Before,
    command: str,
    events: Events,
    *,
    reach: Reach = EVERYWHERE,
    by: ChangedBy = "command",
) -> ChangedInPlace:
    """Record what changed since."""
    seen = ctx.background.seen
    follows = seen is not None and seen.only == before.only  # what changes after this is what those commands change
    after = await look(ctx.workspace, ctx.sandbox, _written(ctx), only=before.only, settled=not follows)
    found = await _found(ctx, before, after, reach, by)
    if follows:
        ctx.background.look_from(after)
    changed, earlier = _record(ctx, found, command, events, by), before.earlier
    if earlier is None:
        return changed
    protected, names = [*earlier.protected, *changed.protected], [*earlier.names, *changed.names]
    return changed._replace(protected=protected, names=names)


async def record_check_changes(ctx: RunContext, before: Before, check: str, events: Events) -> ChangedInPlace:
    """Record what a check changed since. What it made is output; other files have nobody's decision."""
    after = await look(ctx.workspace, ctx.sandbox, settled=True)
    # What the run recorded meanwhile is known.
    found = await _found(ctx, before, after, await reach_of(ctx), "background")
    made = [row for row in found.shown if row.before is None]
    known = ctx.facts.changes.unrecorded.outputs
    outputs = dict.fromkeys([*found.outputs, *(recorded_text(row.path) for row in made)])
    if new := [path for path in outputs if path not in known]:
        events.record(OutputsWritten(paths=new))
    found.shown = [row for row in found.shown if row.before is not None]
    found.protected = [one for one in found.protected if one.why != EXECUTABLE]  # it was built again
    found.folders, found.counted, found.outputs, found.more = [], [], [], 0
    return _record(ctx, found, f"the check `{check}`", events, "command")


async def _found(ctx: RunContext, before: Before, after: Before, reach: Reach, by: ChangedBy) -> Found:
    """Return what differs. New names of hidden files are hidden from commands and tools from now on."""
    others = dict[str, object](ctx.files.person_made)
    if ctx.gate.others is not None:
        written = await asyncio.to_thread(ctx.gate.others.written)
        others |= {path: one.digest for path, one in written.items() if one.at >= before.at}
    files = ctx.facts.changes.files
    if by == "background":
        others |= {path: newest for path, (_, newest) in files.items()}
    made = frozenset(path for path, (first, _) in files.items() if first is None)
    outputs = ctx.facts.changes.unrecorded.outputs.keys()
    try:
        author = Author(others, reach, made | outputs, outputs, ctx.guard)
        found = await asyncio.to_thread(changed_since, ctx.workspace, ctx.journal, before, after, author, _below(ctx))
    except OSError:  # the workspace is gone
        return Found()
    names = [ctx.workspace.root / name for name in found.names]
    ctx.sandbox.further_hidden.update(names if ctx.unit is None else [*names, *map(ctx.unit.outside, names)])
    return found


def _below(ctx: RunContext) -> Path | None:
    """Return a folder that has contents of before: below the view of a unit, or the workspace of the start."""
    if ctx.unit is not None:
        return ctx.unit.layer.workspace
    start = None if ctx.views is None else ctx.views.start
    return None if start is None else start.root


def _record(ctx: RunContext, found: Found, command: str, events: Events, by: ChangedBy) -> ChangedInPlace:
    protected = found.protected if ctx.unit is None else ()
    if not (found.shown or found.folders or found.counted):
        return ChangedInPlace(protected=protected, names=found.names)
    ctx.files.mark_changed()
    rows = [*found.shown, *found.folders]
    with ctx.journal.transaction():
        blob = ctx.journal.blobs.keep(encode_rows(rows))
        for one in found.contents.values():
            for data in (one.before, one.after):
                if data is not None:
                    ctx.journal.blobs.keep(data)
    more = [f"{plural(found.more, 'file')} more"] if found.more else []
    name = new_name()
    with ctx.events.together():
        events.record(
            EffectsAccepted(
                order=name,
                rows=blob,
                command=command,
                files=len(found.shown) + found.more,
                shown=len(found.shown),
                built=[*more, *found.counted],
                in_place=True,
                outputs=found.outputs,
            )
        )
        for row in found.shown:
            changed = file_changed(ctx.journal, found.contents[row.path], by)
            events.record(replace(changed, command=command) if by == "background" else changed)
        events.record(EffectsApplied(order=name))
    files = [row for row in found.shown if row.before is not None]
    overwritten = {recorded_text(row.path): "" if row.after is None else row.after.digest for row in files}
    return ChangedInPlace([row.path for row in found.shown], protected, found.names, overwritten)


async def record_background_changes(ctx: RunContext, events: Events) -> list[str]:
    """Record what background commands changed, and let a person decide on what git or a tool runs by itself.

    Returns lines for the model.
    """
    before, title = ctx.background.seen, ctx.background.title
    if before is None:
        return []
    return await decide_protected(ctx, events, title, await record_changes(ctx, before, title, events, by="background"))


def changed_since(
    ws: Workspace, journal: Journal, before: Before, after: Before, author: Author, below: Path | None
) -> Found:
    """Return what changed since. `below`: see `_Reading`. Raises OSError if the workspace is gone."""
    names = _names_of_hidden(before, after.tree)
    entries = {path: entry for path, entry in after.tree.entries.items() if path not in names}
    every = changes(ws.root, before.tree, after.tree._replace(entries=entries), lambda _: False)
    found, effects = Found(names=sorted(map(os.fsdecode, names))), list[Effect]()
    hidden = _other_modes_of_hidden(before, after.tree)
    kept = _kept_places(ws, before.tree, after.tree, author.reach)
    for one in every:
        if before.is_hidden(os.fsencode(one.path)):
            hidden |= set() if _is_made_of_folders(one) else {one.path}
        elif one.conflict:
            found.counted.append(f"{one.path}: {one.conflict}")
            found.outputs.append(recorded_text(one.path))
            found.protected.append(ProtectedChange(path=one.path, why=one.conflict))
        elif not one.path.startswith(_OBJECTS) or one.path.startswith(_INFO):
            effects.append(one)
    for path in sorted(hidden):
        if not f"{path}/".startswith(kept):
            found.protected.append(ProtectedChange(path=path, why=_HIDDEN))
    for one in effects:
        if one.after is not None and todo_commands(ws, [os.fsencode(one.path)]) - before.commands:
            found.protected.append(ProtectedChange(path=one.path, why=_RUNS))
    if not effects:
        return found
    root = os.open(ws.root, FOLDER | os.O_CLOEXEC)
    try:
        groups = classify(effects, _surroundings(ws, root, before, effects, author.made))
        reading = _Reading(root, journal, before, below)
        for group in groups:
            _add(found, group, reading, kept, author, ws)
    finally:
        os.close(root)
    return found


def _names_of_hidden(before: Before, after: Tree) -> set[bytes]:
    """Return the new names of files that were hidden before: moved ones and hard links."""
    known = before.tree.entries
    hidden = {
        (entry.device, entry.side.inode)
        for path, entry in known.items()
        if entry.side.type == "file" and before.is_hidden(path)
    }
    if not hidden:
        return set()
    return {
        path
        for path, entry in after.entries.items()
        if (entry.device, entry.side.inode) in hidden
        and entry.side.type == "file"
        and not before.is_hidden(path)
        and (path not in known or known[path].side.inode != entry.side.inode)
    }


def _other_modes_of_hidden(before: Before, after: Tree) -> set[str]:
    known = before.tree.entries
    both = ((path, known[path].side, entry.side) for path, entry in after.entries.items() if path in known)
    return {os.fsdecode(path) for path, old, new in both if old.mode != new.mode and before.is_hidden(path)}


def _surroundings(
    ws: Workspace, root: int, before: Before, effects: Sequence[Effect], made: frozenset[str]
) -> Surroundings:
    """Return what the classes depend on, with the names, repositories and caches that were there before."""

    def target(path: str, side: Side) -> bytes:
        return bytes_of(root, os.fsencode(path), side.size) or b""

    known, entries = read_surroundings(ws, effects, target, os.environ, made=made), before.tree.entries
    if before.only != WHOLE:
        return known
    names = {os.fsencode(folder): set[str]() for folder in known.names}
    for path in entries:
        folder, _, name = path.rpartition(b"/")
        if folder in names:
            names[folder].add(os.fsdecode(name))
    touched = {one.path for one in effects}
    return replace(
        known,
        names={os.fsdecode(folder): frozenset(inner) for folder, inner in names.items()},
        repositories=frozenset(path for path in known.repositories if os.fsencode(path) in entries),
        caches=frozenset(path for path in known.caches if _had_tag(path, names, touched)),
    )


def _had_tag(folder: str, names: Mapping[bytes, Collection[str]], touched: Collection[str]) -> bool:
    """Return whether a folder was tagged as a cache before."""
    return CACHE_TAG in names[os.fsencode(folder)] and f"{folder}/{CACHE_TAG}".lstrip("/") not in touched


class _Reading:
    """Reads what changed files contain, and finds what they contained before.

    The old content comes from the journal, from git, and from a folder below the workspace or a copy of it.
    """

    def __init__(self, root: int, journal: Journal, before: Before, below: Path | None) -> None:
        """`below`: of a unit of work, the workspace; of a run that is judged in copies, that of the start."""
        self._root, self._journal, self._before, self._below = root, journal, before, below

    def rows(self, effects: Sequence[Effect]) -> list[tuple[EffectRow, FileContents]]:
        """Return what became of these files and links, with the contents that are known. Without what is as before."""
        old = self._old([one for one in effects if one.before is not None and one.before.type != "folder"])
        found = list[tuple[EffectRow, FileContents]]()
        for effect in effects:
            before, after, data = effect.before, effect.after, None
            if before is not None and (known := old.get(effect.path)) is not None:
                before = replace(before, digest=hashlib.sha256(known).hexdigest())
            elif before is not None and before.type == "file" and not before.digest:
                before = replace(before, digest=self._digest_below(effect.path, before))
            if after is not None and after.type != "folder":
                data = bytes_of(self._root, os.fsencode(effect.path), IN_MEMORY)
                if data is not None:
                    after = replace(after, digest=hashlib.sha256(data).hexdigest(), size=len(data))
                elif after.type == "file":
                    after = replace(after, digest=digest_of_file(self._root, os.fsencode(effect.path)))
            if before is not None and after is not None and before.digest and is_same(before, after):
                continue
            row = EffectRow(path=effect.path, before=before, after=after)
            contents = (None, None) if _is_secret(effect.path) else (old.get(effect.path), data)
            found.append((row, contents_of(row, *contents)))
        return found

    def _old(self, effects: Sequence[Effect]) -> dict[str, bytes]:
        """Return the contents from before that are known, by path."""
        found = dict[str, bytes]()
        for one in effects:
            with suppress(KeyError):
                if one.before is not None and one.before.digest:
                    found[one.path] = self._journal.blobs.load(one.before.digest)
        found |= {one.path: self._before.contents[one.path] for one in effects if one.path in self._before.contents}
        found |= self._of_below([one for one in effects if one.path not in found])
        return found | self._before.git.find([one for one in effects if one.path not in found], IN_MEMORY)

    def _digest_below(self, path: str, shown: Side) -> str:
        """Return the digest of a large file, if the folder below has it as it was, or empty if it is not known."""
        if self._below is None:
            return ""
        below = os.open(self._below, FOLDER | os.O_CLOEXEC)
        try:
            name = os.fsencode(path)
            return digest_of_file(below, name) if _is_as_shown(status_at(below, name), shown) else ""
        finally:
            os.close(below)

    def _of_below(self, effects: Sequence[Effect]) -> dict[str, bytes]:
        """Return the contents of those of these files that the folder below has as they were."""
        found = dict[str, bytes]()
        if self._below is None or not effects:
            return found
        below = os.open(self._below, FOLDER | os.O_CLOEXEC)
        try:
            for one in effects:
                path = os.fsencode(one.path)
                if one.before is None or not _is_as_shown(status_at(below, path), one.before):
                    continue
                data = bytes_of(below, path, IN_MEMORY)
                if data is not None and one.before.digest in ("", hashlib.sha256(data).hexdigest()):
                    found[one.path] = data
        finally:
            os.close(below)
        return found


def _is_as_shown(status: os.stat_result | None, shown: Side) -> bool:
    if status is None or (status.st_size, status.st_mtime_ns) != (shown.size, shown.mtime_ns):
        return False
    return stat.S_ISLNK(status.st_mode) if shown.type == "link" else stat.S_ISREG(status.st_mode)


def _add(found: Found, group: Group, reading: _Reading, kept: tuple[str, ...], author: Author, ws: Workspace) -> None:
    """Add the changes of one class."""
    if group.kind in ("git", "bytecode"):
        found.protected += _links(group) if group.kind == "git" else []
        return
    if group.folder and f"{group.folder}/".startswith(kept):
        return
    if group.kind not in _SHOWN or group.folder:
        found.counted.append(group.title)
        places = [group.folder] if group.folder else [one.effect.path for one in group.entries]
        found.outputs += map(recorded_text, places)
        careful = sorted({one.why for one in group.entries if one.why and not _is_made_of_folders(one.effect)})
        if careful and not _is_given(group.folder, author, ws):
            found.protected.append(ProtectedChange(path=group.folder or ".", why="; ".join(careful[:3])))
        _add_guarded(found, group, reading, author)
        return
    folders = [one.effect for one in group.entries if _is_made_of_folders(one.effect)]
    found.folders += [EffectRow(path=one.path, before=one.before, after=one.after) for one in folders]
    why = {one.effect.path: one.why for one in group.entries}
    rows = reading.rows([one.effect for one in group.entries if not _is_made_of_folders(one.effect)])
    for row, contents in rows:
        is_decided = group.kind == "protected" and not _is_given(row.path, author, ws)
        is_decided = is_decided or author.guard.matches(row.path)
        now = None if row.after is None else row.after.digest
        if not is_decided and author.others.get(recorded_text(row.path), _NOT_CHANGED) == now:
            continue
        if f"{row.path}/".startswith(kept) or (not is_decided and _is_output(row.path, author)):
            continue
        if row.before is not None or len(found.shown) < MOST_SHOWN:
            found.shown.append(row)
            found.contents[row.path] = contents
        else:
            found.more += 1
            found.outputs.append(recorded_text(row.path))
        if is_decided:
            reason = why[row.path] if group.kind == "protected" else GUARDED
            found.protected.append(_protected(row, contents, reason))


def _links(group: Group) -> list[ProtectedChange]:
    """Return the new links in a git folder: what git runs may lie where they lead."""
    after = [(one.effect.path, one.effect.after) for one in group.entries]
    return [ProtectedChange(path=path, why=_LINK_OF_GIT) for path, side in after if side and side.type == "link"]


def _add_guarded(found: Found, group: Group, reading: _Reading, author: Author) -> None:
    """Add the guarded files among output that existed before."""
    effects = [one.effect for one in group.entries if one.effect.before is not None]
    for row, contents in reading.rows([one for one in effects if author.guard.matches(one.path)]):
        found.shown.append(row)
        found.contents[row.path] = contents
        found.protected.append(_protected(row, contents, GUARDED))


def _protected(row: EffectRow, contents: FileContents, why: str) -> ProtectedChange:
    sides = ((row.before, contents.before), (row.after, contents.after))
    is_known = all(side is None or data is not None for side, data in sides)
    mode = 0
    if row.before is not None:
        mode = stat.S_IFLNK if row.before.type == "link" else stat.S_IFREG | (row.before.mode or 0o644)
    if not is_known:
        return ProtectedChange(path=row.path, why=why)
    return ProtectedChange(
        path=row.path, why=why, is_known=True, before=contents.before, after=contents.after, mode=mode
    )


def _kept_places(ws: Workspace, before: Tree, after: Tree, reach: Reach) -> tuple[str, ...]:
    """Return what the sandbox kept read-only, each with a slash: it mounts what exists, and the folder of git's hooks.

    A command can move a folder around such a place and make another one there, which is not kept.
    """
    found = list[str]()
    for place in reach.read_only:
        name = place.relative_to(ws.root).as_posix()
        above = [*and_above(os.fsencode(name))][1:]
        is_there = name == ".git/hooks" or os.fsencode(name) in before.entries
        if is_there and all(_is_one_folder(before.entries.get(path), after.entries.get(path)) for path in above):
            found.append(f"{name}/")
    return tuple(found)


def _is_one_folder(before: PathEntry | None, after: PathEntry | None) -> bool:
    if before is None or after is None:
        return False
    return (before.device, before.side.inode) == (after.device, after.side.inode)


def _is_given(path: str, author: Author, ws: Workspace) -> bool:
    """Return whether somebody allowed the command to write a path."""
    return any((ws.root / path).is_relative_to(place) for place in author.reach.given)


def _is_output(path: str, author: Author) -> bool:
    """Return whether a path is known to be output, of which nothing more is recorded."""
    return not author.outputs.isdisjoint(map(os.fsdecode, and_above(os.fsencode(path))))


def _is_secret(path: str) -> bool:
    parts = path.split("/")
    return ".git" not in parts and why_forbidden(parts) is not None


def _is_made_of_folders(effect: Effect) -> bool:
    return all(side is None or side.type == "folder" for side in (effect.before, effect.after))
