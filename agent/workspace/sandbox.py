"""Where commands run: with bubblewrap, write access to the workspace and a temp folder only, and no network.

Where bubblewrap is missing or does not work, `kind` is None and nothing is held back: whoever shows it says so.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import secrets
import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from .environment import command_env
from .names import CONFIG
from .processes import Finished, run_process, shell

_PROTECTED = (CONFIG, ".envrc", ".vscode", ".idea", ".husky", ".githooks", ".pre-commit-config.yaml")
"""Of the workspace: readable, not writable: what stands there is run or obeyed later, outside of the sandbox."""
_GIT_PROTECTED = ("config", "config.worktree", "info/attributes", "commondir")
_ASIDE = ".untrusted"
_FOLDER = "rundry-commands-"
_LOCK = "owner.lock"
"""Locked as long as the process lives that a temp folder belongs to."""
_HIDDEN_AT_HOME = (".ssh", ".gnupg", ".aws", ".azure", ".kube", ".config/gcloud", ".config/gh", ".password-store")
_HIDDEN_FILES_AT_HOME = (".netrc", ".git-credentials", ".pypirc", ".pgpass", ".docker/config.json")


class Sandbox:
    """One way to hold a command back, tried once. `Sandbox()` holds nothing."""

    def __init__(self, kind: str | None = None, why_none: str = "", hide: Sequence[Path] = ()) -> None:
        """`hide`: folders that commands may not even read (the runs with their journals)."""
        self.kind = kind
        """`bubblewrap`, or None."""
        self.why_none = why_none
        """Where there is none: why, one line with the mend."""
        self._hide = tuple(Path(os.path.realpath(path)) for path in hide)
        self._own: Path | None = None

    @staticmethod
    async def detect(hide: Sequence[Path] = ()) -> Sandbox:
        """What works here. bubblewrap may be installed and not work: it is tried."""
        if shutil.which("bwrap") is None:
            return Sandbox(None, "no sandbox: bubblewrap is not installed (apt install bubblewrap)")
        await asyncio.to_thread(_sweep)
        found = Sandbox("bubblewrap", hide=hide)
        with tempfile.TemporaryDirectory(prefix="rundry-try-") as folder:
            probe = found.wrap(["true"], Path(folder))
            tried = await run_process(probe, cwd=Path(folder), env=command_env(os.environ), timeout=5.0)
        # Landlock is to be tried here, in a later issue, before giving up.
        if tried.exit_code == 0:
            return found
        said = tried.error or tried.output.decode(errors="replace").strip().partition("\n")[0] or "it failed"
        return Sandbox(None, f"no sandbox: bubblewrap is installed and does not work here ({said})")

    def wrap(self, argv: list[str], ws: Path, *, network: bool = False) -> list[str]:
        """The argument list that runs `argv` in the sandbox; `argv` itself where there is none."""
        if self.kind is None:
            return argv
        ws = Path(os.path.realpath(ws))
        temp = str(self._own_folder() / "tmp")
        wrapped = [
            *("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
            # Sockets of the system's services (docker, dbus) are ways out that a read-only mount does not close.
            *("--tmpfs", "/run", "--ro-bind-try", "/run/current-system", "/run/current-system"),
            *("--bind", temp, "/tmp"),
            *_kept_below_temp(),
        ]
        if _is_real_folder(Path("/var/tmp")):
            wrapped += ["--bind", temp, "/var/tmp"]
        if network:
            wrapped += ["--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve"]
        # After the temp folder, or a workspace below /tmp vanishes.
        wrapped += ["--bind", str(ws), str(ws), *_read_only(ws), *self._hidden(ws)]
        wrapped += ["--setenv", "TMPDIR", "/tmp", "--setenv", "GOCACHE", "/tmp/.go-build"]
        wrapped += ["--unshare-all", *(["--share-net"] if network else []), "--die-with-parent", "--new-session"]
        return [*wrapped, "--", *argv]

    async def run(
        self,
        command: str | list[str],
        ws: Path,
        *,
        cwd: Path,
        env: Mapping[str, str],
        timeout: float,  # noqa: ASYNC109 - as in run_process
        limit: int = 200_000,
        on_output: Callable[[bytes], None] | None = None,
        stdin: bytes | None = None,
        network: bool = False,
        may_configure: bool = False,
    ) -> Finished:
        """`run_process` in the sandbox.

        `may_configure`: whoever calls judges a `.rundry.toml` that the command made. Else a new one is moved aside, and
        the output says so: it must not be read as the person's at the next start (CVE-2026-25725).
        """
        argv = shell(command) if isinstance(command, str) else command
        unborn = not may_configure and not _is_there(ws / CONFIG)
        said = b""
        try:
            done = await run_process(
                self.wrap(argv, ws, network=network),
                cwd=cwd,
                env=env,
                timeout=timeout,
                limit=limit,
                on_output=on_output,
                stdin=stdin,
            )
        finally:
            if unborn and _is_there(ws / CONFIG):
                said = _moved_aside(ws / CONFIG)
        return msgspec.structs.replace(done, output=done.output + said, full=done.full + said) if said else done

    def _own_folder(self) -> Path:
        """One for all commands of a run, owner-only, gone with this object; `tmp` in it is what they see as /tmp."""
        if self._own is None:
            self._own = Path(tempfile.mkdtemp(prefix=_FOLDER))
            (self._own / "tmp").mkdir(mode=0o700)
            weakref.finalize(self, _give_up, self._own, _lock_for(self._own))
        return self._own

    def _hidden(self, ws: Path) -> list[str]:
        home = Path.home()
        folders = [*(home / name for name in _HIDDEN_AT_HOME), *self._hide]
        hidden: list[str] = []
        for folder in folders:
            if folder.is_dir() and not ws.is_relative_to(folder):
                hidden += ["--tmpfs", str(folder)]
        for name in _HIDDEN_FILES_AT_HOME:
            if (home / name).is_file():
                hidden += ["--ro-bind", "/dev/null", str(home / name)]
        return hidden


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)


def _moved_aside(config: Path) -> bytes:
    aside = config.with_name(config.name + _ASIDE)
    try:
        try:
            config.replace(aside)
        except OSError:  # what ran put a folder in the way
            aside = aside.with_name(f"{aside.name}-{secrets.token_hex(4)}")
            config.replace(aside)
    except OSError as error:
        return f"\n[rundry: {config.name} came while this ran, and cannot be moved: {error.strerror}]\n".encode()
    return f"\n[rundry: {config.name} came while this ran: moved to {aside.name}, it does not count]\n".encode()


def _lock_for(folder: Path) -> int:
    """The open lock of a temp folder; it has its name only once it is held."""
    making = folder / f"{_LOCK}.new"
    lock = os.open(making, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    making.rename(folder / _LOCK)
    return lock


def _give_up(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


def _sweep() -> None:
    """Removes the temp folders of processes that were killed: those whose lock nobody holds."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        try:
            status = folder.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:  # it is being made, or it is gone
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # its owner lives
            os.close(lock)
        else:
            _give_up(folder, lock)


def _kept_below_temp() -> list[str]:
    """Python itself, where it stands below /tmp (a checkout there): the temp folder would hide it."""
    places = {sys.prefix, sys.base_prefix}
    return [word for place in sorted(places) if place.startswith("/tmp/") for word in ("--ro-bind", place, place)]


def _read_only(ws: Path) -> list[str]:
    """Binds for what must not change in the workspace, as far as it exists."""
    protected = [ws / name for name in _PROTECTED]
    git, binds = ws / ".git", list[str]()
    if _is_real_folder(git):
        # A mount of its own cannot be renamed: nobody puts another repository in its place.
        binds += ["--bind", str(git), str(git)]
        hooks = git / "hooks"
        binds += [] if _is_real_folder(hooks) else ["--tmpfs", str(hooks), "--remount-ro", str(hooks)]
        protected += [hooks, *(git / name for name in _GIT_PROTECTED)]
    else:
        protected.append(git)
    for path in protected:
        if path.exists() and not path.is_symlink():
            binds += ["--ro-bind", str(path), str(path)]
    return binds


def _is_real_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
