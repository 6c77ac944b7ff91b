"""Sort what a command would change into passing changes and the entries of one proposal (decision 0039)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ...gate.effects_draft import EntryDraft
from ...gate.policy import GUARDED
from ...gate.text_diff import split_bytes
from ...host.file_errors import UnreadableFile
from ...host.files.file_content import text_format_of
from ...host.files.file_states import FileState, read_state
from ...layers.effect_rows import EffectRow
from ...layers.git.apply_git_rows import name_of
from ...layers.git.git_rows import StateRow
from ...layers.git.git_words import git_lines, names_of, repository_of
from ...layers.layer_effects import IN_MEMORY, Effect
from ...protocol import EffectEntry, EntryChange, EntryKind, ExecuteBit
from ...protocol.effects import EXECUTABLE
from ...protocol.text.counts import plural
from ...state.facts.standing_changes import GIT_WORDS

if TYPE_CHECKING:
    from ...gate.gate import Gate
    from ...gate.guarded_paths import GuardedPaths
    from ...gate.policy import Verdict
    from ...journal.blobs import Blobs
    from ...layers.effect_classes import Class, Group
    from ...layers.git.git_rows import GitChanges
    from ...layers.layer_effects import Side
    from ...layers.run_layers import Listed

MOST_ENTRIES = 1_000
"""Most entries of a proposal; the files of more are joined by folder and decided whole."""
_MOST_COMPARED = 32_000_000
"""Bytes of texts that are compared for one proposal; further files are accepted or skipped whole."""
_MOST_NAMED = 5
_MOST_LINES = 20
_SHOWN = frozenset[str]({"protected", "ignored_existed", "ordinary"})
"""Classes whose changes are recorded one by one; the others are counted."""
_INSTALL = "what is installed runs as a part of your programs"
_OF_A_TREE = "they are decided together"


class ShownEntry(NamedTuple):
    """One entry of the proposal, and what is behind it."""

    draft: EntryDraft
    effects: tuple[Effect, ...] = ()
    git: GitChanges | None = None


@dataclass(slots=True)
class Sorted:
    """What a command would change."""

    asking: list[ShownEntry] = field(default_factory=list[ShownEntry])
    passing: list[EffectRow] = field(default_factory=list[EffectRow])
    recorded: set[str] = field(default_factory=set[str])
    """Paths of passing rows that are recorded one by one."""
    counted: list[str] = field(default_factory=list[str])
    """The other passing rows, in words."""
    git: list[GitChanges] = field(default_factory=list["GitChanges"])
    """What repositories gain without a question."""
    folders: list[EffectRow] = field(default_factory=list[EffectRow])
    """Folders that are made or deleted because of what is decided about the files in them."""
    refused: list[str] = field(default_factory=list[str])
    """What cannot be applied, with the reason, for the model."""
    left: set[str] = field(default_factory=set[str])
    """Its paths."""

    @property
    def can_be_decided(self) -> bool:
        """Whether there is something to accept."""
        return any(not part.draft.shown.conflict for part in self.asking)

    @property
    def along(self) -> str:
        """What passes, in words."""
        files = [plural(len(self.recorded), "file")] if self.recorded else []
        more = len(self.counted) - _MOST_NAMED
        return ", ".join([*files, *self.counted[:_MOST_NAMED], *([f"and {more:,} more"] if more > 0 else [])])


class _Asked(NamedTuple):
    effect: Effect
    kind: Class
    why: tuple[str, ...]
    danger: bool
    undo: bool


@dataclass(slots=True)
class _Asking:
    """Effects that ask one by one."""

    files: list[_Asked] = field(default_factory=list[_Asked])
    clashing: list[_Asked] = field(default_factory=list[_Asked])
    """Those that changed while the command ran: they are shown, and cannot be accepted."""
    folders: list[_Asked] = field(default_factory=list[_Asked])

    def add(self, one: _Asked) -> None:
        (self.folders if is_folder(one.effect) else self.clashing if one.effect.conflict else self.files).append(one)


def sort_effects(
    gate: Gate, root: Path, listed: Listed, guard: GuardedPaths, *, is_hook: bool, command: str = ""
) -> Sorted:
    """Sort the effects by the gate's verdict on them. `root`: the workspace, whose files are read.

    `is_hook`: a hook of the user made them, which asks nobody. `command`: the line of the model that made them.
    """
    found, asking, entries = Sorted(), _Asking(), _Entries(root, listed)
    for group in listed.groups:
        if group.kind in ("git", "bytecode"):
            continue
        if group.kind == "install" or (group.kind == "protected" and group.folder):
            paths = [one.effect.path for one in group.entries]
            verdict = gate.judge_effect(group.kind, paths, is_hook=is_hook, command=command)
            if verdict.action == "deny":
                found.refused.append(f"{named([group.folder])}: {'; '.join(verdict.why)}")
            elif verdict.action == "allow":
                _let_pass(found, group, [one.effect for one in group.entries if not one.effect.conflict])
                found.refused += _conflicts(one.effect for one in group.entries)
            else:
                found.asking.append(entries.of_group(group, verdict))
        elif _passes_whole(gate, group, guard, is_hook=is_hook):
            _let_pass(found, group, [one.effect for one in group.entries if not one.effect.conflict])
            found.refused += _conflicts(one.effect for one in group.entries)
        else:
            _sort_each(gate, group, guard, found, asking, is_hook=is_hook)
    if len(asking.files) + len(asking.clashing) > MOST_ENTRIES:
        found.refused += _conflicts(one.effect for one in asking.clashing)
    else:
        found.asking += [entries.of_files([one]) for one in asking.clashing]
    found.asking += [entries.of_files(some) for some in _joined(asking.files)]
    _place_folders(found, entries, asking.folders)
    _sort_git(gate, root, found, listed, is_hook=is_hook)
    found.asking.sort(key=_place)
    return found


def _sort_each(gate: Gate, group: Group, guard: GuardedPaths, found: Sorted, asking: _Asking, *, is_hook: bool) -> None:
    """Sort the effects of a group one by one."""
    passing, denied = list[Effect](), dict[str, list[str]]()
    for effect, why, undo in group.entries:
        is_guarded = _is_guarded(guard, group.kind, effect)
        is_named = why == EXECUTABLE and gate.names(effect.path)
        kind = "protected" if is_guarded else "ordinary" if is_named else group.kind
        verdict = gate.judge_effect(kind, [effect.path], is_hook=is_hook)
        if verdict.action == "deny":
            denied.setdefault("; ".join(verdict.why), []).append(effect.path)
            found.left.add(effect.path)
        elif effect.conflict and (verdict.action == "allow" or is_folder(effect)):
            found.refused += _conflicts([effect])
            found.left.add(effect.path)
        elif verdict.action == "allow":
            passing.append(effect)
        else:
            own = [] if verdict.needs else verdict.why  # the mode is the same for all entries
            reasons = tuple(dict.fromkeys(line for line in (why, *own) if line))
            if is_guarded and not own:
                reasons = (*reasons, GUARDED)
            asking.add(_Asked(effect, kind, reasons, verdict.danger, undo))
    _let_pass(found, group, passing)
    found.refused += [f"{named(paths)}: {why}" for why, paths in denied.items()]


def _place(part: ShownEntry) -> tuple[bool, bool, bool, str]:
    """Return the order of entries: what asks in every mode, deletions, the rest by their paths, and git."""
    shown = part.draft.shown
    return part.git is not None, not shown.danger, shown.change != "deleted", shown.path


def is_folder(effect: Effect) -> bool:
    """Return whether it only makes or deletes a folder."""
    return all(side is None or side.type == "folder" for side in (effect.before, effect.after))


def row_of(effect: Effect) -> EffectRow:
    """Return the row that carries an effect out."""
    return EffectRow(path=effect.path, before=effect.before, after=effect.after)


def named(paths: Sequence[str]) -> str:
    """Name some paths for the model."""
    shown = ", ".join(f"`{storable_path(path)}`" for path in paths[:_MOST_NAMED])
    more = len(paths) - _MOST_NAMED
    return f"{shown} and {more:,} more" if more > 0 else shown


def git_summary(changes: GitChanges, place: str) -> str:
    """Name for the model what changes in a repository. `place`: where it is, as an entry has it."""
    return f"{named(names_of(changes))}{f' in `{place}`' if place else ''}"


def storable_path(path: str) -> str:
    r"""Return a path as text that can be stored; bytes that are not UTF-8 become `\xff`."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _passes_whole(gate: Gate, group: Group, guard: GuardedPaths, *, is_hook: bool) -> bool:
    """Return whether a group of output needs no look at each of its paths."""
    if group.kind not in ("built", "ignored_new"):
        return False
    if any(_is_guarded(guard, group.kind, one.effect) for one in group.entries):
        return False
    return gate.judge_effect(group.kind, [one.effect.path for one in group.entries], is_hook=is_hook).action == "allow"


def _is_guarded(guard: GuardedPaths, kind: Class, effect: Effect) -> bool:
    """Return whether an effect changes a guarded file. Of what git ignores, only what existed is guarded."""
    is_new_output = effect.before is None and kind not in ("protected", "ordinary")
    return not is_new_output and guard.matches(effect.path)


def _conflicts(effects: Iterable[Effect]) -> list[str]:
    return [
        f"`{storable_path(effect.path)}`: {storable_path(effect.conflict)}" for effect in effects if effect.conflict
    ]


def _let_pass(found: Sorted, group: Group, effects: Sequence[Effect]) -> None:
    rows = [row_of(effect) for effect in effects]
    found.passing += rows
    if group.kind in _SHOWN:
        found.recorded |= {effect.path for effect in effects if not is_folder(effect)}
    elif rows:
        found.counted.append(group.title)


def _joined(asked: Sequence[_Asked]) -> Iterator[Sequence[_Asked]]:
    """Yield what becomes one entry: each file; or the files of each folder, if there are too many."""
    if len(asked) <= MOST_ENTRIES:
        yield from ([one] for one in asked)
        return
    depth = max(one.effect.path.count("/") for one in asked)
    while True:
        groups = dict[tuple[str, str, bool], list[_Asked]]()
        for one in asked:
            groups.setdefault((_folder(one.effect.path, depth), one.kind, one.danger), []).append(one)
        if len(groups) <= MOST_ENTRIES or not depth:
            yield from groups.values()
            return
        depth -= 1


def _folder(path: str, depth: int) -> str:
    """Return the folder of a path, at most `depth` folders deep. Empty means the workspace."""
    return "/".join(path.split("/")[:-1][:depth])


def _place_folders(found: Sorted, entries: _Entries, folders: Sequence[_Asked]) -> None:
    """Decide on folders as on the files in them. A folder without files is an entry, with the folders in it."""
    parents = {above for part in found.asking for effect in part.effects for above in _above(effect.path)}
    parents |= {above for row in found.passing for above in _above(row.path)}
    parents |= {above for path in found.left for above in _above(path)}
    empty = dict[str, list[_Asked]]()
    for one in sorted(folders, key=lambda one: one.effect.path):
        path = one.effect.path
        if path in parents:
            found.folders.append(row_of(one.effect))
        else:
            top = next((above for above in _above(path) if above in empty), path)
            empty.setdefault(top, []).append(one)
    found.asking += [entries.of_folders(some) for some in empty.values()]


def _above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


class _Entries:
    """Makes the entries of one proposal."""

    def __init__(self, root: Path, listed: Listed) -> None:
        self._root, self._contents, self._compared = root, listed.contents, 0

    def of_group(self, group: Group, verdict: Verdict) -> ShownEntry:
        """Return the entry of an install or a new repository, which is decided as a whole."""
        effects = [one.effect for one in group.entries]
        runs = [storable_path(f"{one.effect.path}: {one.why}") for one in group.entries if one.why]
        is_install = group.kind == "install"
        why = [_INSTALL] if is_install else list(dict.fromkeys(one.why for one in group.entries))[:_MOST_NAMED]
        shown = replace(
            _whole(group.folder, effects),
            kind="install" if is_install else "tree",
            why=list(map(storable_path, [*why, *verdict.why])),
            danger=verdict.danger,
            lines=[_changes_in_words(effects), *(_shortened(runs) if is_install else [])],
            conflict=next((storable_path(f"{one.path}: {one.conflict}") for one in effects if one.conflict), ""),
            no_undo=not all(one.undo for one in group.entries),
        )
        paths = tuple(one.path for one in effects)
        return ShownEntry(EntryDraft(shown=shown, kind=group.kind, paths=paths), tuple(effects))

    def of_files(self, asked: Sequence[_Asked]) -> ShownEntry:
        """Return the entry of a file or link, or of all such in a folder."""
        first = asked[0]
        if len(asked) == 1:
            return self._of_file(first)
        effects = [one.effect for one in asked]
        folder = _folder(first.effect.path, min(one.effect.path.count("/") for one in asked))
        while folder and not all(one.path.startswith(f"{folder}/") for one in effects):
            folder = folder.rpartition("/")[0]
        why = list(dict.fromkeys(line for one in asked for line in one.why))
        shown = replace(
            _whole(folder, effects),
            kind="tree",
            why=list(map(storable_path, [*_shortened(why), *([_OF_A_TREE] if why else [])])),
            danger=first.danger,
            lines=[_changes_in_words(effects)],
            no_undo=not all(one.undo for one in asked),
        )
        paths = tuple(one.path for one in effects)
        return ShownEntry(EntryDraft(shown=shown, kind=first.kind, paths=paths), tuple(effects))

    def of_folders(self, asked: Sequence[_Asked]) -> ShownEntry:
        """Return the entry of a folder with nothing in it but folders."""
        first, effects = asked[0], tuple(one.effect for one in asked)
        shown = EffectEntry(
            path=storable_path(first.effect.path),
            kind="folder",
            change=_change(first.effect),
            why=list(map(storable_path, first.why)),
            danger=first.danger,
            count=len(asked),
        )
        return ShownEntry(EntryDraft(shown=shown, kind=first.kind, paths=tuple(one.path for one in effects)), effects)

    def _of_file(self, one: _Asked) -> ShownEntry:
        effect = one.effect
        before, after = effect.before, effect.after
        state, data, is_text, conflict = None, None, False, storable_path(effect.conflict)
        try:
            state, data, is_text = self._texts(effect)
        except (UnreadableFile, OSError) as error:
            conflict = conflict or storable_path(str(error))
        shown = EffectEntry(
            path=storable_path(effect.path),
            kind=_kind(after or before),
            change=_change(effect),
            why=list(map(storable_path, one.why)),
            danger=one.danger,
            conflict=conflict,
            is_text=is_text,
            size_before=before.size if before is not None and before.type == "file" else 0,
            size=after.size if after is not None and after.type == "file" else 0,
            mode=_mode(before, after),
            target=self._target(effect),
            no_undo=not one.undo,
        )
        if is_text and state is not None:
            parts = self._compare(state, data)
            if parts is None:
                shown, state, data = replace(shown, is_text=False), None, None
            elif parts:
                hunks, added, removed = parts
                shown = replace(shown, hunks=hunks if data is not None else 0, added=added, removed=removed)
        draft = EntryDraft(
            shown=shown,
            kind=one.kind,
            paths=(effect.path,),
            before=state if shown.is_text else None,
            after=data if shown.is_text else None,
        )
        return ShownEntry(draft, (effect,))

    def _texts(self, effect: Effect) -> tuple[FileState | None, bytes | None, bool]:
        """Return both contents of a file, and whether they may be shown. Raises UnreadableFile and OSError."""
        before, after = effect.before, effect.after
        if any(side is not None and (side.type != "file" or side.size > IN_MEMORY) for side in (before, after)):
            return None, None, False
        path = Path(storable_path(effect.path))
        real = self._root / effect.path
        if before is None:
            state = FileState(path=path, real=real, exists=False)
        else:
            state = replace(read_state(real, IN_MEMORY, beneath=self._root), path=path)
            if state.sha256 != before.digest:
                raise UnreadableFile("it changed while the command ran")
        data = None if after is None else self._contents.get(effect.path)
        return state, data, after is None or data is not None

    def _compare(self, state: FileState, data: bytes | None) -> tuple[int, int, int] | tuple[()] | None:
        """Return the number of hunks and lines: none if they are too long to compare.

        Returns None if it is not text.
        """
        self._compared += len(state.data) + len(data or b"")
        if self._compared > _MOST_COMPARED:
            return ()
        if data is not None and not text_format_of(data).encoding:
            return None
        parts = split_bytes(state, data)
        return None if parts is None else (len(parts.hunks), parts.added, parts.removed)

    def _target(self, effect: Effect) -> str:
        side = effect.after or effect.before
        if side is None or side.type != "link":
            return ""
        if effect.after is not None:
            return self._contents.get(effect.path, b"").decode("utf-8", "backslashreplace")
        try:
            return storable_path(str((self._root / effect.path).readlink()))
        except OSError:
            return ""


def _whole(folder: str, effects: Sequence[Effect]) -> EffectEntry:
    return EffectEntry(
        path=storable_path(folder),
        kind="tree",
        change="added" if all(one.before is None for one in effects) else "changed",
        count=sum(not is_folder(one) for one in effects),
        size=sum(one.after.size for one in effects if one.after is not None),
        size_before=sum(one.before.size for one in effects if one.before is not None),
    )


def _changes_in_words(effects: Sequence[Effect]) -> str:
    files = [effect for effect in effects if not is_folder(effect)]
    words: tuple[tuple[EntryChange, str], ...] = (("added", "new"), ("changed", "changed"), ("deleted", "deleted"))
    counts = [(sum(_change(one) == change for one in files), word) for change, word in words]
    return ", ".join(f"{count:,} {word}" for count, word in counts if count) or plural(len(effects), "folder")


def _shortened(lines: Sequence[str]) -> list[str]:
    more = len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], *([f"and {more:,} more"] if more > 0 else [])]


def _change(effect: Effect) -> EntryChange:
    return "added" if effect.before is None else "deleted" if effect.after is None else "changed"


def _kind(side: Side | None) -> EntryKind:
    return "file" if side is None else side.type


def _mode(before: Side | None, after: Side | None) -> ExecuteBit:
    is_run, was_run = (side is not None and side.executable for side in (after, before))
    if after is None or is_run == was_run or after.type != "file":
        return ""
    return "executable" if is_run else "not executable" if before is not None and before.type == "file" else ""


def _sort_git(gate: Gate, root: Path, found: Sorted, listed: Listed, *, is_hook: bool) -> None:
    """Sort what repositories gain. Their commits have files of the command, so these must be applied too."""
    for changes in listed.git:
        if not changes.rows:
            continue
        why, verdict = _why_not_git(found, changes), gate.judge_effect("git", [], is_hook=is_hook)
        place = storable_path(repository_of(changes, root))
        name = git_summary(changes, place)
        if verdict.action == "deny":
            found.refused.append(f"git ({name}): {'; '.join(verdict.why)}")
        elif verdict.action == "ask" or (found.asking and not why):
            shown = EffectEntry(path=place, kind="git", lines=git_lines(changes), conflict=why, count=len(changes.rows))
            found.asking.append(ShownEntry(EntryDraft(shown=shown, kind="git"), git=changes))
        elif why:
            found.refused.append(f"git ({name}): {why}")
        else:
            found.git.append(changes)
            found.counted.append(f"{GIT_WORDS}{name}")


def _why_not_git(found: Sorted, changes: GitChanges) -> str:
    conflicts = [f"{name_of(row)}: {row.conflict}" for row in changes.rows if row.conflict]
    runs = [line for row in changes.rows if isinstance(row, StateRow) for line in row.runs]
    if found.refused or any(part.draft.shown.conflict for part in found.asking):
        return "a file that the command changed is not applied"
    if conflicts:
        return "; ".join(conflicts[:_MOST_NAMED])
    return f"git would run `{runs[0]}` when the operation is continued" if runs else ""


def with_blobs(parts: Sequence[ShownEntry], blobs: Blobs) -> list[ShownEntry]:
    """Return the entries with the names of their stored texts."""
    found = list[ShownEntry]()
    for part in parts:
        draft = part.draft
        if draft.shown.is_text and draft.before is not None:
            before = blobs.keep(draft.before.data) if draft.before.exists else None
            after = None if draft.after is None else blobs.keep(draft.after)
            part = part._replace(draft=replace(draft, shown=replace(draft.shown, before=before, after=after)))
        found.append(part)
    return found
