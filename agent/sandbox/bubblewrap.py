"""Build the bubblewrap arguments for one command."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..host.program_search import find_program
from ..host.real_paths import exists
from ..repo.git_folders import repository_places
from ..repo.protected_places import is_real_folder, read_only_places
from . import sandbox_mounts as mounts
from .command_access import npm_cache
from .hidden_places import HiddenPlaces
from .home_places import caches_to_make
from .kernel_files import writable_kernel_entries
from .start_command import INTERPRETER, restricted

if TYPE_CHECKING:
    from .command_access import Access

BUBBLEWRAP_FAILED = 1
"""Exit code of bubblewrap if it cannot set up the sandbox."""
MOST_READ_ONLY = 64
"""Maximum number of workspace files that get a mount; the others are only compared afterwards."""
_OWN_CACHES = ".caches"
_APART = ["--unshare-ipc", "--unshare-pid", "--unshare-uts"]
"""The cgroup namespace is shared: with its own, Java cannot find its limits in /sys/fs/cgroup, and Gradle fails."""


class Stage(msgspec.Struct, frozen=True):
    """A folder that commands see in place of the workspace, which is then hidden."""

    folder: Path
    mounts: tuple[tuple[Path, Path], ...] = ()
    """Sources and targets of read-only mounts."""
    empty: tuple[Path, ...] = ()
    """Folders that appear empty to commands."""


def find_bubblewrap(avoid: Path | None) -> Path | None:
    """Return bubblewrap from the PATH. One in the workspace is not used, because a model can write there."""
    return find_program("bwrap", [] if avoid is None else [avoid])


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """What a command sees of the machine's files."""

    ws: Path
    temp: Path
    """The folder that appears as /tmp."""
    hidden_places: HiddenPlaces
    readable: Sequence[Path] = ()
    """What else commands see, read-only: existing places with links resolved, none inside another."""
    links: Sequence[tuple[str, str]] = ()
    """Links outside of `readable`, with their targets."""
    socket_folders: Sequence[Path] = ()
    """Folders of sockets, which appear empty to commands."""
    programs: Sequence[Path] = ()
    """Folders of `ws` whose programs also run outside."""
    stage: Stage | None = None
    """The folder that commands see at `ws` instead of the workspace."""
    git: Sequence[Path] | None = None
    """Nested git folders that commands cannot write. None means also that of the workspace."""
    layers: Path | None = None
    """A folder of rundry in the workspace or its repository that commands see empty."""


def bubblewrap(
    program: Path,
    argv: Sequence[str],
    layout: Layout,
    access: Access,
    *,
    processes: int,
    report: int = -1,
    joined: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
) -> list[str]:
    """Return the bubblewrap command line for `argv`. Only the workspace, /tmp and `access.writable` can be written.

    No outside process is visible, and none survives the command. `joined`: arguments that join the run's own loopback
    network; without them the command has its own. `env`: additional variables. `report`: the descriptor of a `SetUp`.
    """
    variables = {"TMPDIR": "/tmp", "GOCACHE": "/tmp/.go-build", **npm_cache(access, Path("/tmp")), **(env or {})}
    return [
        *(*joined, str(program)),
        *_mounts(layout, access),
        *(word for name, value in variables.items() for word in ("--setenv", name, value)),
        *("--unshare-user" if joined else "--unshare-user-try", *_APART),
        *([] if joined or access.network else ["--unshare-net"]),
        *("--die-with-parent", "--new-session", *mounts.drop_capabilities()),
        *(["--chdir", str(access.layer.cwd)] if access.layer is not None and access.layer.cwd is not None else []),
        "--",
        *restricted(argv, {}, network=access.network, processes=processes, report=report),
    ]


def _mounts(layout: Layout, access: Access) -> list[str]:
    """Return the arguments for all mounts. A later one covers an earlier one, so the order matters.

    The root is empty at first, so that what is not mounted does not exist for commands: a read-only mount would stop
    neither connections to sockets nor writing to FIFOs.
    """
    ws, stage = layout.ws, layout.stage
    copy = None if access.layer is None else access.layer.copy
    instead = copy if stage is None else stage.folder
    hidden_places = layout.hidden_places
    words = _system(layout)
    if access.network:
        words += _resolver()
    for place in access.writable:
        words += ["--bind-try", str(place), str(place)]
    visible = mounts.Places([*layout.readable, *access.writable, *access.readable, ws])
    hidden = msgspec.structs.replace(hidden_places, hidden=[path for path in hidden_places.hidden if path in visible])
    words += mounts.hide_parents(hidden, ws)
    # After the temp folder is mounted; otherwise a workspace below /tmp disappears.
    words += _workspace(layout, access) if stage is None else _staged(ws, stage)
    words += _caches(layout, access)
    shows = instead is None or (layout.layers is not None and not layout.layers.is_relative_to(ws))
    is_hidden = access.layer is not None and copy is None  # the layer hides it
    if layout.layers is not None and layout.layers in visible and shows and not is_hidden:
        words += ["--tmpfs", str(layout.layers), "--remount-ro", str(layout.layers)]
    shown = mounts.Places(layout.readable)
    for place in access.readable:
        words += ["--ro-bind-try", str(place), str(place)] if place not in shown else []
    if access.empty is not None:
        words += ["--tmpfs", f"/tmp/{access.empty.relative_to(layout.temp)}"]
    words += mounts.hide(hidden, ws, _blank(layout.temp), root=instead)
    gone = mounts.Places([ws, *hidden.hidden])
    for folder in layout.socket_folders:
        if folder in visible and folder not in gone:
            words += ["--tmpfs", str(folder)]
    return [*words, "--remount-ro", "/"]


def _system(layout: Layout) -> list[str]:
    """Mount the readable places, and replace the temp folders and the folders of devices, processes and services."""
    temp = str(layout.temp)
    words = ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run", "--bind", temp, "/tmp"]
    if is_real_folder(Path("/var/tmp")):
        words += ["--bind", temp, "/var/tmp"]
    for entry in writable_kernel_entries():
        words += ["--ro-bind-try", entry, entry]
    for link, target in layout.links:
        words += ["--symlink", target, link]
    for place in layout.readable:
        words += ["--ro-bind-try", str(place), str(place)]
    return words


def _staged(ws: Path, stage: Stage) -> list[str]:
    """Bind the stage. The sources of mounts are paths on the machine, also those in the workspace, which is covered."""
    words = ["--bind", str(stage.folder), str(ws)]
    for source, seen in stage.mounts:
        words += ["--ro-bind", str(source), str(seen)]
    for folder in stage.empty:
        words += ["--tmpfs", str(folder)]
    return [*words, *_interpreter(ws)]


def _copied(ws: Path, copy: Path, access: Access) -> list[str]:
    """Bind the copy of a unit of work in place of the workspace."""
    words = ["--ro-bind" if access.keeps_workspace else "--bind", str(copy), str(ws)]
    for path in _files(access, []):
        words += ["--ro-bind-try", str(copy / path.relative_to(ws)), str(path)]
    return [*words, *_interpreter(ws)]


def _interpreter(ws: Path) -> list[str]:
    """Bind the Python of `restricted`, if it is in the workspace, which is covered."""
    return ["--ro-bind", sys.base_prefix, sys.base_prefix] if INTERPRETER.is_relative_to(ws) else []


def _resolver() -> list[str]:
    """Bind the target of resolv.conf (in /run, or in /mnt on WSL); without it, host names cannot be resolved."""
    target = Path(os.path.realpath("/etc/resolv.conf"))
    shown = target.parent if target.is_relative_to("/run") else target  # services replace the file in /run
    return [] if target.is_relative_to("/etc") else ["--ro-bind-try", str(shown), str(shown)]


def _blank(temp: Path) -> Path:
    """Return an empty file that commands cannot change."""
    blank = temp.with_name("blank")
    with suppress(FileExistsError):  # two commands may start together
        os.close(os.open(blank, os.O_CREAT | os.O_EXCL | os.O_RDONLY, 0o444))
    return blank


def _git_binds(ws: Path, nested: Sequence[Path] | None) -> list[str]:
    """Bind the repository of the workspace."""
    git, binds = ws / ".git", list[str]()
    if is_real_folder(git):
        # A mount point cannot be renamed, so a command cannot replace the repository.
        binds = ["--ro-bind" if nested is None else "--bind", str(git), str(git)]
    elif git.is_file() and not git.is_symlink():
        below = [place for place in repository_places(ws) if place.is_relative_to("/tmp")]
        binds = [word for place in below for word in ("--ro-bind", str(place), str(place))]
        binds += ["--ro-bind", str(git), str(git)]
    for path in nested or ():
        binds += ["--ro-bind", str(path), str(path)]
    return binds


def _workspace(layout: Layout, access: Access) -> list[str]:
    """Bind the workspace, with the files that this command must not change as read-only."""
    ws = layout.ws
    if access.layer is not None and access.layer.copy is not None:
        return _copied(ws, access.layer.copy, access)
    if access.keeps_workspace:
        live = [word for place in access.live for word in ("--bind-try", str(place), str(place))]
        return ["--ro-bind", str(ws), str(ws), *live]
    if access.layer is not None:
        binds = [word for place in access.layer.places for word in ("--bind-try", str(place), str(place))]
        return [*binds, *(word for path in _files(access, []) for word in ("--ro-bind-try", str(path), str(path)))]
    git = ws / ".git"
    binds = ["--bind", str(ws), str(ws), *_git_binds(ws, layout.git)]
    places = [*read_only_places(ws), *layout.programs]
    for path in (*places, *_files(access, places)):
        if any(path.is_relative_to(place) or place.is_relative_to(path) for place in access.writable):
            continue
        if layout.git is None and path.is_relative_to(git):
            continue
        if path == git / "hooks" and not is_real_folder(path):
            binds += ["--tmpfs", str(path), "--remount-ro", str(path)]
        elif path.exists() and not path.is_symlink():
            binds += ["--ro-bind", str(path), str(path)]
    return binds


def _caches(layout: Layout, access: Access) -> list[str]:
    """Let commands fill the caches of package managers: those that their layer covers, if they see them.

    One that does not exist at home is in the temp folder.
    """
    seen = mounts.Places([*layout.readable, *access.writable, layout.ws])
    covered = () if access.layer is None or access.keeps_workspace else access.layer.caches
    words = [word for one in covered if one in seen for word in ("--bind", str(one), str(one))]
    own = layout.temp / _OWN_CACHES
    for n, missing in enumerate(caches_to_make()):
        if missing.parent not in seen and not exists(missing):
            (own / str(n)).mkdir(parents=True, exist_ok=True)
            words += ["--bind", str(own / str(n)), str(missing)]
    return words


def _files(access: Access, places: Sequence[Path]) -> list[Path]:
    """Return the files that the command must not write, without those in read-only places.

    bubblewrap reads the mount table again for each bind: 100 binds cost 60 ms, 400 cost 600 ms.
    """
    files = [path for path in access.read_only if path.is_file() and not path.is_symlink() and path.resolve() == path]
    return [path for path in files if not any(path.is_relative_to(place) for place in places)][:MOST_READ_ONLY]
