"""Find out whether commands can run in layers in this workspace, by trying each step.

Nothing of the user's is changed: files are copied up, written and deleted in a trial layer, and what must work on the
workspace's file system is tried next to that layer, in rundry's own folder.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ..host.files.locked_file import Lease
from ..host.files.no_follow import exchange, rename_new
from ..host.real_paths import real_path
from .git.layer_git_folders import covered, git_folders_of
from .layer_effects import OPAQUE
from .namespaces import Cover, Namespaces, NamespacesRefused
from .occupied import workspace_key
from .open_below import FOLDER, open_below
from .remedies import Machine, Refusal, Remedy, group_name, remedy_for
from .removing import remove_tree

if TYPE_CHECKING:
    from ..repo.git_folders import GitFolders

_TRIAL, _TRIAL_SECONDS = "fit-", 60.0
"""Prefix of the folder of a trial, and the age after which one is removed: its process was killed."""
_LOOKED_AT, _LARGEST = 300, 1_000_000
"""Entries of the workspace that are looked at, and bytes of a file that is copied up."""

_MOUNTS = Path("/proc/self/mountinfo")


class Fitness(msgspec.Struct, frozen=True, kw_only=True):
    """Whether layers work in a workspace."""

    place: Path | None = None
    """The folder for what rundry keeps of this workspace's layers, on its file system. None means that layers do not
    work."""
    is_inside: bool = False
    """Whether `place` lies in a folder that layers cover, so that commands must see an empty folder there."""
    stacks: bool = False
    """Whether a layer can lie on another one that waits. Not if `place` is inside: lower folders may not overlap."""
    step: str = ""
    """The first step that is refused."""
    why: str = ""
    remedy: Remedy = Remedy()
    """How a person lifts that."""


def fitness_of(workspace: Path, state: Path, *, interpreter: Path | None = None, why_no_sandbox: str = "") -> Fitness:
    """Start what layers need, and try them. `interpreter`: as for `Namespaces`; the others as for `try_workspace`."""
    try:
        namespaces = Namespaces(interpreter)
    except NamespacesRefused as refused:
        return unfit(refused, workspace, state)
    with namespaces:
        return try_workspace(workspace, state, namespaces, why_no_sandbox=why_no_sandbox)


def place_of_orders(workspace: Path, state: Path) -> Path:
    """Return the folder for orders that change a workspace, whether layers work there now or not. Raises OSError.

    It is the one in which a run put orders before; else the first on the file system of the workspace.
    """
    workspace = real_path(workspace)
    places, device = _places(workspace, state, git_folders_of(workspace)), workspace.stat().st_dev
    used = [place for place in places if (place / "orders").is_dir()]
    near = [place for place in places if _first_existing(place).stat().st_dev == device]
    return [*used, *near, *places][0]


def place_of_copies(workspace: Path, state: Path) -> Path:
    """Return the folder for the copies in which results are judged. Commands cannot see it, where there is a sandbox.

    It may lie on another file system than the workspace.
    """
    return state / "copies" / workspace_key(real_path(workspace))


def places_of(workspace: Path, state: Path) -> list[Path]:
    """Return the folders in which the layers of a workspace can lie; none of them has to exist."""
    workspace = real_path(workspace)
    return _places(workspace, state, git_folders_of(workspace))


def _places(workspace: Path, state: Path, git: GitFolders | None) -> list[Path]:
    return [state / "layers" / workspace_key(workspace), *([git.common / "rundry"] if git is not None else [])]


def _first_existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.exists())


def unfit(refused: NamespacesRefused, workspace: Path, state: Path) -> Fitness:
    """Return the result for a workspace of a machine that refused namespaces."""
    return _result(_refusal(refused), real_path(workspace), state, None)


def try_workspace(workspace: Path, state: Path, namespaces: Namespaces, *, why_no_sandbox: str = "") -> Fitness:
    """Return whether layers work in this workspace. Never raises OSError.

    `state`: a folder of rundry that commands cannot see: that of the journals. `why_no_sandbox`: why commands run
    without a sandbox; empty if they run in one.
    """
    workspace = real_path(workspace)
    here = None
    try:
        if why_no_sandbox:
            raise Refusal("sandbox", why_no_sandbox)
        here = _mount_at(workspace)
        git = git_folders_of(workspace)
        folders = covered(workspace, git)
        if inside := [path for folder in folders for path in _mounts_inside(folder, _mount_at(folder))]:
            raise Refusal("mounts in the workspace", _listed(inside))
        namespaces.try_processes()
        return _placed(_places(workspace, state, git), folders, namespaces)
    except Refusal as found:
        return _result(found, workspace, state, here)
    except NamespacesRefused as refused:
        return _result(_refusal(refused), workspace, state, here)
    except OSError as error:
        found = Refusal("workspace", error.strerror or str(error), error.errno or 0)
        return _result(found, workspace, state, here)


def try_copies_of(workspace: Path, state: Path) -> Fitness:
    """Return whether units of work can have copies of this workspace. Never raises OSError."""
    workspace, why = real_path(workspace), ""
    for place in _places(workspace, state, git_folders_of(workspace)):
        try:
            with _trial_folder(place) as trial:
                own = os.open(trial, FOLDER | os.O_CLOEXEC)
                try:
                    os.close(os.open("one", os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=own))
                    _try_moves(own, [workspace])
                finally:
                    os.close(own)
                os.mknod(trial / "mark", stat.S_IFCHR, 0)
        except Refusal as found:
            why = found.why
        except OSError as error:
            why = f"{place}: {error.strerror or error}"
        else:
            return Fitness(place=place, is_inside=_is_inside(place, [workspace]))
    return Fitness(step="place", why=why)


def _refusal(refused: NamespacesRefused) -> Refusal:
    return Refusal(refused.step, refused.why, refused.code)


def _result(found: Refusal, workspace: Path, state: Path, here: _Mount | None) -> Fitness:
    remedy = remedy_for(found, Machine(), workspace, state, here.kind if here is not None else "")
    return Fitness(step=found.step, why=found.why, remedy=remedy)


def _listed(mounts: Sequence[Path]) -> str:
    more = f" and {len(mounts) - 3} more" if len(mounts) > 3 else ""
    return f"{', '.join(map(str, mounts[:3]))}{more}: an overlay does not show what is mounted there"


def _placed(places: Sequence[Path], folders: Sequence[Path], namespaces: Namespaces) -> Fitness:
    """Try the places for layers over these folders, the workspace first. Raises Refusal, for the last place."""
    last = Refusal("place", "no folder can be made")
    for place in places:
        try:
            with _trial_folder(place) as trial:
                _try_file_system(folders, trial)
                stacks = _try_layer(folders, trial, namespaces)
        except OSError as error:
            last = Refusal("place", f"{place}: {error.strerror or error}", error.errno or 0)
        except NamespacesRefused as refused:
            last = _refusal(refused)
        except Refusal as found:
            last = found
        else:
            return Fitness(place=place, is_inside=_is_inside(place, folders), stacks=stacks)
    raise last


def _is_inside(path: Path, folders: Sequence[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


@contextmanager
def _trial_folder(place: Path) -> Generator[Path]:
    """Make a folder for a trial, and remove it with all folders that were made for it. Raises OSError, Refusal."""
    made = list[Path]()
    missing = [folder for folder in (place, *place.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700)
        made.append(folder)
    try:
        status = place.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
            raise Refusal("place", f"{place} is not a folder that you alone can write to")
        _sweep(place)
        trial = place / f"{_TRIAL}{secrets.token_hex(8)}"
        trial.mkdir(mode=0o700)
        try:
            yield trial
        finally:
            remove_tree(trial)
    finally:
        for folder in reversed(made):
            with suppress(OSError):  # another run uses it meanwhile
                folder.rmdir()


def _sweep(place: Path) -> None:
    for old in place.glob(f"{_TRIAL}*"):
        with suppress(OSError):
            if time.time() - old.lstat().st_mtime > _TRIAL_SECONDS:
                remove_tree(old)


def _try_file_system(folders: Sequence[Path], trial: Path) -> None:
    """Try what the apply of effects needs, from a trial folder to these folders. Raises OSError, Refusal."""
    own = os.open(trial, FOLDER | os.O_CLOEXEC)
    try:
        for name in ("one", "other"):
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=own))
        _try_moves(own, folders)
        if not exchange(own, "one", "other"):
            raise Refusal("exchange", "two files cannot be exchanged in one step", errno.EINVAL)
        opened = os.open("one", os.O_RDONLY | os.O_CLOEXEC, dir_fd=own)
        try:
            lease = Lease(opened)
            if not lease.held or lease.is_contested:
                raise Refusal("lease", "a file cannot be kept from other writers while it is replaced", errno.EINVAL)
        finally:
            os.close(opened)
    finally:
        os.close(own)


def _try_moves(own: int, folders: Sequence[Path]) -> None:
    """Try whether the file `one` of an open folder can be moved to these folders. Raises OSError, Refusal."""
    for folder in folders:
        if folder.stat().st_dev != os.fstat(own).st_dev or not _moves(own, "one", folder):
            raise Refusal("place", f"rundry's own folder is not on the file system of {folder}", errno.EXDEV)


def _moves(own: int, name: str, target: Path) -> bool:
    """Return whether files can be moved to a folder. Moves nothing: `.` exists, which is noticed last (rename(2))."""
    try:
        rename_new(own, name, f"{target}/.")
    except FileExistsError:
        return True
    except OSError as error:
        if error.errno == errno.EXDEV:
            return False
        raise
    raise AssertionError("a folder was replaced by a file")


def _try_layer(folders: Sequence[Path], trial: Path, namespaces: Namespaces) -> bool:
    """Mount a layer over these folders and change things in it. Raises OSError, Refusal and NamespacesRefused.

    Return whether it lies on another layer.
    """
    (trial / "l").mkdir(mode=0o700)
    base, name, stacks = trial.parent, trial.name, not _is_inside(trial, folders)
    covers, marks = list[Cover](), list[Path]()
    for number, folder in enumerate(folders):
        for kind in ("u", "w"):
            (trial / f"{kind}{number}").mkdir(mode=0o700)
        below = trial / "l" / str(number)
        mark = Path(f".rundry-{secrets.token_hex(8)}")
        (below / mark / "folder").mkdir(parents=True)
        (below / mark / "file").write_bytes(b"below")
        if trial.is_relative_to(folder):
            mark = below.relative_to(folder) / mark
        lower = [*([f"{name}/l/{number}"] if stacks else []), str(folder)]
        covers.append(Cover(folder, lower, f"{name}/u{number}", f"{name}/w{number}"))
        marks.append(mark)
    hidden = [] if stacks else [_hidden_trial(trial)]
    mounted = namespaces.mount(base, covers, hidden)
    try:
        for number, folder in enumerate(folders):
            for place in hidden:
                if place.is_relative_to(folder) and _entries(mounted.roots[number], place.relative_to(folder)):
                    raise Refusal("hidden folder", "commands in a layer would see rundry's own folder")
        for number, folder in enumerate(folders):
            if stacks or trial.is_relative_to(folder):
                _write_in(mounted.roots[number], trial / f"u{number}" / marks[number], marks[number])
            for path, status in _samples(folder):
                _copy_up(mounted.roots[number], path, status)
        if not all(namespaces.is_used(base, one.upper, one.work) for one in covers):
            raise Refusal("in use", "the system does not tell whether a layer is in use")
        namespaces.seal(mounted)
    finally:
        mounted.close()
    return stacks


def _hidden_trial(trial: Path) -> Path:
    """Make a folder with something in it, which commands must see empty."""
    (trial / "h" / "file").mkdir(parents=True)
    return trial / "h"


def _entries(root: int, path: Path) -> list[str]:
    folder = os.open(path, FOLDER | os.O_CLOEXEC, dir_fd=root)
    try:
        return os.listdir(folder)  # noqa: PTH208 - an open folder
    finally:
        os.close(folder)


def _write_in(root: int, written: Path, own: Path) -> None:
    """Write, delete and replace in the folder `own` of a view, and look at what is written down for it."""
    folder = os.open(own, FOLDER | os.O_CLOEXEC, dir_fd=root)
    try:
        with os.fdopen(os.open("new", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600, dir_fd=folder), "wb") as file:
            file.write(b"new")
        os.unlink("file", dir_fd=folder)
        os.rmdir("folder", dir_fd=folder)
        os.mkdir("folder", dir_fd=folder)
        mark = (written / "file").lstat()
        if (written / "new").read_bytes() != b"new" or not stat.S_ISCHR(mark.st_mode) or mark.st_rdev:
            raise Refusal("overlay", "it does not write down what is made and deleted", errno.EINVAL)
        if os.getxattr(written / "folder", OPAQUE) != b"y":
            raise Refusal("overlay", "it does not write down what is replaced", errno.EINVAL)
    finally:
        os.close(folder)


class _Sample(NamedTuple):
    path: bytes
    status: os.stat_result


def _samples(workspace: Path) -> list[_Sample]:
    """Return a writable file and a folder of each owner and group among the first entries of the workspace."""
    found = dict[tuple[int, int, bool], _Sample]()
    root = os.open(workspace, FOLDER | os.O_CLOEXEC)
    try:
        waiting, left = [b""], _LOOKED_AT
        while waiting and left > 0:
            top = waiting.pop(0)
            try:
                names = _names(root, top)[:left]
            except OSError:
                continue
            left -= len(names)
            for name in names:
                path = top + name
                with suppress(OSError):
                    status = os.stat(path, dir_fd=root, follow_symlinks=False)
                    is_folder = stat.S_ISDIR(status.st_mode)
                    if is_folder:
                        waiting.append(path + b"/")
                    elif not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
                        continue
                    kind = (status.st_uid, status.st_gid, is_folder)
                    if kind not in found and os.access(path, os.W_OK, dir_fd=root, follow_symlinks=False):
                        found[kind] = _Sample(path, status)
    finally:
        os.close(root)
    return list(found.values())


def _names(root: int, folder: bytes) -> list[bytes]:
    opened = open_below(root, folder.rstrip(b"/"), FOLDER)
    try:
        with os.scandir(opened) as entries:
            return sorted(os.fsencode(entry.name) for entry in entries)
    finally:
        os.close(opened)


def _copy_up(root: int, path: bytes, status: os.stat_result) -> None:
    """Let a layer copy a file or folder that lies below it. Raises Refusal."""
    try:
        if stat.S_ISDIR(status.st_mode):
            opened = open_below(root, path, FOLDER)
            try:
                os.mkdir(f".rundry-{secrets.token_hex(8)}", dir_fd=opened)
            finally:
                os.close(opened)
        else:
            os.close(open_below(root, path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK))
    except FileNotFoundError:  # the user removed it meanwhile
        return
    except OSError as error:
        name = os.fsdecode(path)
        if error.errno != errno.EOVERFLOW:
            raise Refusal("copy of a file", f"{name}: {error.strerror}", error.errno or 0) from None
        whose = f"user {status.st_uid}"
        if status.st_uid == os.geteuid():
            whose = f"group {group_name(status.st_gid)}"
        why = f"{name} belongs to the {whose}, which commands in a layer cannot have"
        raise Refusal("copy of a file", why, errno.EOVERFLOW, (status.st_uid, status.st_gid)) from None


class _Mount(NamedTuple):
    """A file system, mounted at a place that this process sees (proc_pid_mountinfo(5))."""

    number: int
    above: int
    """The number of the mount on which it lies."""
    place: Path
    kind: str
    """The type of its file system."""


def _mount_at(folder: Path) -> _Mount:
    """Return the mount that a folder lies on. Raises OSError."""
    opened = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        lines = Path(f"/proc/self/fdinfo/{opened}").read_text("ascii").splitlines()
    finally:
        os.close(opened)
    number = next(int(line.split(":")[1]) for line in lines if line.startswith("mnt_id:"))
    found = next((one for one in _mounts() if one.number == number), None)
    if found is None:
        raise OSError(None, f"{folder} is not in the table of mounts")
    return found


def _mounts_inside(folder: Path, here: _Mount) -> list[Path]:
    """Return where something is mounted visibly inside a folder that lies on the mount `here`."""
    return sorted({one.place for one in _mounts() if one.above == here.number and _lies_below(one.place, folder)})


def _mounts() -> list[_Mount]:
    """Return all mounts. Raises OSError."""
    found = list[_Mount]()
    for line in _MOUNTS.read_bytes().splitlines():
        fields = line.split(b" ")
        kind = fields[fields.index(b"-", 6) + 1]
        found.append(
            _Mount(int(fields[0]), int(fields[1]), Path(_unescaped(fields[4])), kind.decode("ascii", "replace"))
        )
    return found


def _lies_below(place: Path, folder: Path) -> bool:
    return place != folder and place.is_relative_to(folder)


def _unescaped(path: bytes) -> str:
    for byte in b" \t\n\\":
        path = path.replace(b"\\%03o" % byte, bytes([byte]))
    return os.fsdecode(path)
