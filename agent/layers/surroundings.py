"""Read from the live workspace what the classes of effects depend on (`effect_classes.py`), once for a list of them.

Only folders on the paths of the effects are listed, so the cost does not grow with the workspace.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..host.ignored_files import Ignore
from ..host.plain_files import read_plain
from ..repo.repository import repository_top
from ..sandbox.visible_programs import program_places
from .effect_classes import CACHE_TAG, Sorter, Surroundings, classify
from .layer_effects import Effect, Side
from .open_below import FOLDER, open_below
from .started_files import (
    SettingsUnreadable,
    StartedFiles,
    add_links_and_scripts,
    add_programs,
    add_settings,
    add_variables,
    git_folders,
    tracked_files,
)

if TYPE_CHECKING:
    from ..host.workspace_paths import Workspace

_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"
_MOST_REPOSITORIES = 100


def read_surroundings(
    ws: Workspace,
    effects: Sequence[Effect],
    load: Callable[[str, Side], bytes],
    env: Mapping[str, str],
    *,
    made: frozenset[str] = frozenset(),
    room: int = 0,
) -> Surroundings:
    """Read what `classify` needs for these effects. Raises OSError if the workspace or the layer cannot be read.

    `load` returns the target of a link that was written. `env`: the environment in which the user works. `made`: the
    files and folders that this run made. `room`: bytes that the folder of displaced files still takes.
    """
    root = os.open(ws.seen, FOLDER | os.O_CLOEXEC)
    try:
        names = dict[str, frozenset[str]]()
        for effect in effects:
            _list_up(root, effect.path.rpartition("/")[0], names)
            if effect.before is not None and effect.before.type == "folder":
                _list_up(root, effect.path, names)
    finally:
        os.close(root)
    names.setdefault("", frozenset())
    started, tops, problem = StartedFiles(ws.seen, env.get("HOME", "")), _tops(ws.seen, names), ""
    try:
        if len(tops) > _MOST_REPOSITORIES:
            raise SettingsUnreadable(f"more than {_MOST_REPOSITORIES} repositories are concerned")
        for top in tops:
            add_settings(started, top, env)
        add_links_and_scripts(started, names)
    except SettingsUnreadable as error:
        problem = str(error)
    add_variables(started, env)
    programs, runs_here = _programs(ws.seen, env.get("PATH", ""))
    add_programs(started, programs)
    for place in ws.private:
        started.add(str(ws.shown(place)), "it is rundry's own record of this run", is_folder=True)
    for name in ws.hook_scripts:
        started.add(f"{ws.seen}/{name}", "a hook of this run executes it")
    targets = {one.path: load(one.path, one.after) for one in effects if one.after and one.after.type == "link"}
    ignored, folders = _ignored(ws, effects, started.excludes if repository_top(ws.seen) == ws.seen else ())
    known = Surroundings(
        names=names,
        ignored=ignored,
        ignored_folders=folders,
        repositories=frozenset(_repositories(ws.seen, names)),
        caches=frozenset(folder for folder in names if CACHE_TAG in names[folder] and _is_cache(ws.seen / folder)),
        files=started.files,
        folders=started.folders,
        runs_here=runs_here,
        leads_out=_leading_out(ws.seen, effects, targets),
        made=made,
        room=room,
        problem=problem,
    )
    try:
        return replace(known, tracked=_tracked(ws.seen, tops, effects, known))
    except SettingsUnreadable as error:
        return replace(known, problem=problem or str(error))


def why_edit_asks(ws: Workspace, path: str, env: Mapping[str, str], *, is_new: bool, is_deleted: bool) -> str:
    """Return why an edit of a file by a tool asks in every mode, from its place alone, or empty if it does not.

    `path`: relative to the workspace, with links followed. `env`: the environment in which the user works.
    """
    file = Side(type="file")
    kind = "added" if is_new else "deleted" if is_deleted else "changed"
    effect = Effect(path=path, kind=kind, before=None if is_new else file, after=None if is_deleted else file)
    try:
        known = read_surroundings(ws, [effect], _no_link, env)
    except (FileNotFoundError, NotADirectoryError):  # the workspace was removed: the edit fails, and says so
        return ""
    return next((one.why for group in classify([effect], known) for one in group.entries), "")


def _no_link(path: str, side: Side) -> bytes:
    raise AssertionError(f"{path} is not a link: {side}")


def _list_up(root: int, folder: str, names: dict[str, frozenset[str]]) -> None:
    """List a folder of the workspace and those above it; links are not followed. What is missing is empty."""
    while folder not in names:
        names[folder] = frozenset(_names(root, folder))
        folder = folder.rpartition("/")[0]


def _names(root: int, folder: str) -> list[str]:
    try:
        opened = open_below(root, os.fsencode(folder), FOLDER, enters_mounts=True)
    except OSError:  # it does not exist, or is a link or a file
        return []
    try:
        with os.scandir(opened) as listing:
            return [entry.name for entry in listing]
    finally:
        os.close(opened)


def _tops(root: Path, names: Mapping[str, frozenset[str]]) -> list[Path]:
    """Return the tops of the working trees around the effects, that of the workspace first, with git folders alone."""
    inner = sorted(folder for folder in names if folder and ".git" in names[folder])
    bare = sorted(folder for folder in names if {"HEAD", "objects", "refs", "config"} <= names[folder])
    return [repository_top(root) or root, *(root / folder for folder in (*inner, *bare) if folder)]


def _repositories(root: Path, names: Mapping[str, frozenset[str]]) -> Iterator[str]:
    for folder in names:
        if ".git" in names[folder]:
            yield f"{folder}/.git".lstrip("/")
            found = git_folders(root / folder)
            for place in () if found is None else {found.own, found.common}:
                if place.is_relative_to(root) and place != root:
                    yield place.relative_to(root).as_posix()


def _ignored(
    ws: Workspace, effects: Iterable[Effect], excludes: Sequence[Path]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the effects that git ignores, by the type that they had, or get, and the folders above that it ignores."""
    ignore, folders, found = Ignore(ws.root, excludes=excludes), dict[str, bool](), set[str]()

    def is_ignored(folder: str) -> bool:
        known = folders.get(folder)
        if known is None:
            parent, _, name = folder.rpartition("/")
            known = is_ignored(parent) or ignore.ignores_entry(f"{parent}/" if parent else "", name, is_dir=True)
            if not known:
                ignore.refresh(f"{folder}/")
            folders[folder] = known
        return known

    ignore.refresh("")
    folders[""] = False
    for effect in effects:
        folder, _, name = effect.path.rpartition("/")
        side = effect.before or effect.after
        is_folder = side is not None and side.type == "folder"
        if is_ignored(folder) or ignore.ignores_entry(f"{folder}/" if folder else "", name, is_folder):
            found.add(effect.path)
    return frozenset(found), frozenset(folder for folder, is_ignored in folders.items() if is_ignored)


def _tracked(root: Path, tops: Sequence[Path], effects: Sequence[Effect], known: Surroundings) -> frozenset[str]:
    """Return the effects that are in an index. Only those are looked up for which it makes a difference."""
    sorter, places = Sorter(effects, known), set[str]()
    for effect in effects:
        if effect.path in known.ignored:
            places.add(effect.path)
        elif folder := sorter.dependency_folder(effect):
            places.add(folder)
    if not places:
        return frozenset()
    wanted, found = {effect.path for effect in effects}, set[str]()
    for top in tops:
        within = top if top.is_relative_to(root) else root
        base = "" if within == root else within.relative_to(root).as_posix() + "/"
        inside = _outermost([place.removeprefix(base) for place in places if place.startswith(base)])
        if inside:
            found |= {base + name for name in tracked_files(top, within, inside, root)} & wanted
    return frozenset(found)


def _outermost(places: Iterable[str]) -> list[str]:
    """Return the common folders of these places: few arguments for git, which may name too much."""
    found = sorted({place if "/" not in place else place.rpartition("/")[0] for place in places})
    kept = list[str]()
    for place in found:
        if not kept or not f"{place}/".startswith(f"{kept[-1]}/"):
            kept.append(place)
    return kept if len(kept) <= 200 else ["."]


def _programs(root: Path, path: str) -> tuple[list[Path], bool]:
    """Return the folders in the workspace that PATH names, existing or not, and whether it names the workspace."""
    entries = {os.path.normpath(root / entry) for entry in path.split(os.pathsep) if entry}
    if "" in path.split(os.pathsep):  # an empty entry is the current folder
        entries.add(str(root))
    real = {os.path.realpath(entry) for entry in entries}
    inside = {Path(entry) for entry in entries | real if entry.startswith(f"{root}/")}
    return sorted({*inside, *program_places(root, path or os.defpath)}), str(root) in entries | real


def _is_cache(folder: Path) -> bool:
    """Return whether the folder has a tag file as the specification wants it: a plain file that begins so."""
    tag = folder / CACHE_TAG
    try:
        return not tag.is_symlink() and read_plain(tag).startswith(_SIGNATURE)
    except OSError:
        return False


def _leading_out(root: Path, effects: Sequence[Effect], targets: Mapping[str, bytes]) -> frozenset[str]:
    """Return the new links that lead out of the workspace, applied alone or with all other effects."""
    together: dict[str, bytes | None] = {one.path: targets.get(one.path) for one in effects}
    return frozenset(
        path
        for path, target in targets.items()
        if _leads_out(root, path, together) or _leads_out(root, path, {path: target})
    )


def _leads_out(root: Path, path: str, changed: Mapping[str, bytes | None]) -> bool:
    """Return whether a link leads out, where `changed` has the targets of links, and None for all else that changed.

    A link that cannot be followed to its end leads out.
    """
    waiting, here = list(reversed(path.split("/"))), list[str]()
    for _ in range(4_000):
        if not waiting:
            return False
        part = waiting.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not here:
                return True
            here.pop()
            continue
        here.append(part)
        target = _target(root, "/".join(here), changed)
        if target is None:
            continue
        here.pop()
        if target.startswith("/"):
            if not f"{target}/".startswith(f"{root}/"):
                return True
            target, here = target[len(str(root)) :], []
        waiting += reversed(target.split("/"))
    return True


def _target(root: Path, path: str, changed: Mapping[str, bytes | None]) -> str | None:
    if path in changed:
        target = changed[path]
        return None if target is None else os.fsdecode(target)
    try:
        return os.readlink(root / path)  # noqa: PTH115 - the text as it is
    except OSError:
        return None
