"""Run commands with write access to the workspace and a temp folder only, and with the network only if allowed.

bubblewrap is used if it works, otherwise Landlock if the kernel supports it. If neither works, `kind` is None and
commands are not confined; the views show this.
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import msgspec

from ..host.own_temp import remove_entry, sweep_temp, temp_folder
from ..host.processes.processes import Finished, ProcessSettings, run_process, shell
from ..repo.nested_repositories import Repositories
from .bubblewrap import BUBBLEWRAP_FAILED, Stage, find_bubblewrap
from .command_access import NO_ACCESS
from .command_environment import command_env
from .hidden_places import HideRules
from .landlock import why_no_landlock
from .probe.run_attacks import probe
from .sandbox_kinds import Confinement, SandboxSettings, UnitView
from .start_command import TRIES, SetUp

if TYPE_CHECKING:
    from ..protocol import SandboxKind
    from .command_access import Access
    from .probe.attack_targets import AttackStage

_TRIED_SECONDS = (5.0, 15.0, 40.0)
"""Time limits of the tries of a sandbox and of the attacks on it: a busy machine may need longer than the first."""
_GO_CACHE = ".go-build"
KINDS = ("bubblewrap", "landlock")
"""Kinds of sandbox, the better one first."""

_BINDS = frozenset({"--bind", "--bind-try", "--ro-bind", "--ro-bind-try"})
_WRITABLE = 0o222


class Sandbox(Confinement):
    """Runs commands in one kind of sandbox. `Sandbox()` does not confine them; `detect` finds the best kind."""

    _repositories: dict[Path, Repositories] | None = None
    """Those that were found in a workspace."""
    _of_checks: Sandbox | None = None
    """The copy for checks."""

    @staticmethod
    async def detect(
        hide: Sequence[Path] = (),
        *,
        hide_rules: HideRules = HideRules(),  # noqa: B008 - frozen
        network: bool = False,
        hosts: Sequence[str] = (),
        workspace: Path | None = None,
        kinds: Sequence[SandboxKind] = KINDS,
    ) -> Sandbox:
        """Return the first kind of sandbox that works here. A bubblewrap in the workspace is not used.

        `hide`: places that stay hidden even if the user shows them (the runs with their journals).
        """
        settings = SandboxSettings(
            hide_rules=msgspec.structs.replace(hide_rules, own=(*hide_rules.own, *hide)),
            network=network,
            hosts=hosts,
        )
        await asyncio.to_thread(sweep_temp)
        why, weaker = list[str](), list[str]()
        for kind in kinds:
            program = find_bubblewrap(workspace) if kind == "bubblewrap" else None
            trial = await _try(kind, program, settings)
            if not trial.problem:
                found = Sandbox(kind, "; ".join(why), settings, program=program)
                found.trial_notes = [
                    *([trial.note] if trial.note else []),
                    *(f"{kind} is used: {each}" for each in weaker),
                ]
                return found
            why.append(trial.problem)
            weaker += [trial.problem] if program is not None else []
        return Sandbox(None, f"no sandbox: {'; '.join(why)}")

    def hiding(self, rules: HideRules) -> Sandbox:
        """Return a copy that was tried as this one was, for the run with these rules."""
        made = self._copy(msgspec.structs.replace(self._settings, hide_rules=rules))
        made.trial_notes = self.trial_notes
        return made

    def staged(self, stage: Stage, hide: Sequence[Path] = ()) -> Sandbox:
        """Return a copy that shows another folder in place of the workspace, with its own temp folder and loopback.

        `hide`: further places that commands cannot read. Landlock cannot show a folder at another path, so there the
        command runs in the folder itself, and can read the sources of the stage's mounts even if they are hidden.
        """
        hide_rules = msgspec.structs.replace(self._settings.hide_rules, own=(*self._settings.hide_rules.own, *hide))
        return self._copy(msgspec.structs.replace(self._settings, hide_rules=hide_rules, stage=stage))

    def separate_copy(self) -> Sandbox:
        """Return a copy with its own temp folder and loopback, for another tree of the run."""
        return self._copy(msgspec.structs.replace(self._settings, stage=None))

    def with_held_out(self) -> Sandbox:
        """Return a copy for the second check, whose commands can read its files."""
        rules = msgspec.structs.replace(self._settings.hide_rules, held_out=())
        return self._copy(msgspec.structs.replace(self._settings, hide_rules=rules))

    def for_checks(self) -> Sandbox:
        """Return a copy in the same network and unit with an empty temp folder, except for the build cache of Go."""
        made = self._of_checks = self._of_checks or self.separate_copy()
        made.unit, made.network_words = self.unit, self.network_words
        for path in made.temp.iterdir():
            if path.name != _GO_CACHE:
                remove_entry(path)
        return made

    def left_in_temp(self) -> list[str]:
        """Return the sorted names of what commands left in the temp folder; empty folders may be mount points."""
        own = (".", "background-", "check-")
        return sorted(
            path.name for path in self.temp.iterdir() if not path.name.startswith(own) and not _is_empty_tree(path)
        )

    def in_unit(self, unit: UnitView) -> Sandbox:
        """Return a copy whose commands run in the view of a unit of work."""
        made = self.separate_copy()
        made.unit, made.network_words = unit, self.network_words
        return made

    def for_server(self) -> Sandbox:
        """Return a copy with its own temp folder for a program of the user that runs as long as the run.

        It reaches the network only if its `Access` allows that.
        """
        return self._copy(msgspec.structs.replace(self._settings, stage=None, network=False, hosts=()))

    def _copy(self, settings: SandboxSettings) -> Sandbox:
        """Return the same kind of sandbox with its own temp folder, loopback and proxy."""
        made = Sandbox(self.kind, self.why_none, settings, program=self._program, probed=self._probed)
        made.further_hidden, made.layers = self.further_hidden, self.layers
        return made

    async def probe(self, workspace: Path | None = None, *, fresh: bool = False) -> None:
        """Attack the sandbox from the inside to find the guarantees that it does not give (`missing`, `not_held`).

        `workspace`: the folder that commands can write to. `fresh`: ignore the stored result of an earlier probe.
        """
        if self.kind is None:
            return

        async def run(stage: AttackStage, argv: list[str]) -> Finished:
            hide_rules = HideRules(own=(stage.hidden,), show=(stage.ws.parent,), denied=lambda _: ["denied"])
            tried = self._copy(
                msgspec.structs.replace(
                    self._settings, hide_rules=hide_rules, hosts=(), search_path=str(stage.programs)
                )
            )
            env, limit = command_env(os.environ), _TRIED_SECONDS[-1]
            return await tried.run(argv, stage.ws, cwd=stage.ws, env=env, timeout=limit, separate_errors=True)

        about = f"{self.kind} {self._settings.network} {_identity(self._program)}"
        self._probed = await probe(run, about, workspace=workspace, fresh=fresh)
        if workspace is not None:
            self._reachable = await asyncio.to_thread(self.reachable_sockets, workspace)

    async def run(
        self,
        command: str | list[str],
        ws: Path,
        access: Access = NO_ACCESS,
        *,
        cwd: Path,
        env: Mapping[str, str],
        timeout: float,  # noqa: ASYNC109 - as in run_process
        on_output: Callable[[bytes], None] | None = None,
        **settings: Unpack[ProcessSettings],
    ) -> Finished:
        """Call `run_process` in the sandbox.

        The command works in the repository of the workspace. The caller finds out what it changed there.
        """
        ws, access, cwd = self._placed(ws, access, cwd)
        argv = shell(command, ws) if isinstance(command, str) else command
        if (layer := access.layer) is not None:
            access = msgspec.structs.replace(access, layer=msgspec.structs.replace(layer, cwd=cwd))
            if layer.begin is not None:
                settings["on_start"] = layer.begin
        if not access.network:
            await asyncio.to_thread(self.open_egress)
        asked = self._egress.mark() if self._egress is not None else {}
        writes = access.layer is None and not access.keeps_workspace and self._settings.stage is None
        git = await asyncio.to_thread(self.nested_git, ws, access.writable) if writes else None
        done = await self.run_unchecked(
            argv, ws, access, git=git, cwd=cwd, env=env, timeout=timeout, on_output=on_output, **settings
        )
        return await self._with_notes(done, ws, access, asked, separate=bool(settings.get("separate_errors")))

    async def _with_notes(
        self,
        done: Finished,
        ws: Path,
        access: Access,
        asked: dict[str, int],
        *,
        separate: bool,
    ) -> Finished:
        """Add lines to the output of a command: what it could not see, and the servers that it asked for."""
        unseen = await asyncio.to_thread(self.unseen, done, ws, access)
        egress = self._egress.lines(asked) if self._egress is not None else []
        notes = "".join(f"\n[rundry: {line}]\n" for line in (*([unseen] if unseen else []), *egress)).encode()
        if separate:
            return msgspec.structs.replace(done, errors=done.errors + notes)
        return msgspec.structs.replace(done, output=done.output + notes, full=done.full + notes) if notes else done

    def nested_git(self, ws: Path, writable: Sequence[Path]) -> list[Path]:
        """Return the nested git folders that bubblewrap keeps read-only for a command. Blocks.

        `writable`: places that the command may write to.
        """
        if self.kind != "bubblewrap":
            return []
        ws = Path(os.path.realpath(ws))
        known = self._repositories = self._repositories or {}
        return known.setdefault(ws, Repositories(ws)).read_only(writable)

    async def run_unchecked(
        self,
        argv: list[str],
        ws: Path,
        access: Access = NO_ACCESS,
        *,
        git: Sequence[Path] | None = None,
        cwd: Path,
        env: Mapping[str, str],
        timeout: float,  # noqa: ASYNC109 - as in run_process
        on_output: Callable[[bytes], None] | None = None,
        **settings: Unpack[ProcessSettings],
    ) -> Finished:
        """Call `run_process` in the sandbox, for a program that changes nothing, or whose changes the caller checks.

        If the sandbox cannot be set up, because a file that it mounts disappeared meanwhile, this is tried again.
        """
        ws, access, cwd = self._placed(ws, access, cwd)
        left, until = timeout, time.monotonic() + timeout
        for set_up in self.starts():
            output = _Held(set_up, on_output)
            wrapped = await asyncio.to_thread(self.wrap, argv, ws, access, git=git, report=set_up.descriptor)
            mounts_live = self.kind == "bubblewrap" and self._settings.stage is None and access.layer is None
            points = _MountPoints(wrapped if mounts_live else [], ws)
            set_up.when_complete(points.remove_made)
            done = await run_process(
                wrapped,
                cwd=cwd,
                env=env,
                timeout=left,
                on_output=output.add if on_output is not None else None,
                pass_fds=set_up.descriptors,
                **settings,
            )
            points.remove_made()
            if set_up.is_complete() or done.exit_code != BUBBLEWRAP_FAILED or set_up.is_last:
                output.release()
                return done
            left = until - time.monotonic()
        raise AssertionError("the last attempt is always returned")

    def starts(self) -> Iterator[SetUp]:
        """Yield an object for each attempt to start a command; leave the loop as soon as its sandbox is set up.

        Each process is started with `wrap(report=set_up.descriptor)` and inherits `set_up.descriptors`.
        """
        mounts = self.kind == "bubblewrap"
        tries = TRIES if mounts else 1
        for count in range(tries):
            with SetUp(is_used=mounts, is_last=count == tries - 1) as set_up:
                yield set_up


class _Held:
    """Output that is passed on when the sandbox is set up. Before, it is that of the sandbox itself."""

    def __init__(self, set_up: SetUp, on_output: Callable[[bytes], None] | None) -> None:
        self._set_up, self._on_output = set_up, on_output
        self._waiting: list[bytes] = []

    def add(self, piece: bytes) -> None:
        self._waiting.append(piece)
        if self._set_up.is_complete():
            self.release()

    def release(self) -> None:
        waiting, self._waiting = self._waiting, []
        if self._on_output is not None:
            for piece in waiting:
                self._on_output(piece)


class _MountPoints:
    """The files of a workspace on which a sandbox mounts something, as they are before it is set up.

    bubblewrap makes a missing one: an empty file without write permission, in the way of the user's programs.
    """

    def __init__(self, argv: Sequence[str], ws: Path) -> None:
        """`argv`: the command line of bubblewrap."""
        above = f"{os.path.realpath(ws)}/"
        targets = {argv[at + 2] for at, word in enumerate(argv) if word in _BINDS and at + 2 < len(argv)}
        self._before = {path: _file_identity(path) for path in targets if path.startswith(above)}

    def remove_made(self) -> None:
        """Remove the files that were made since, but none that has content or that can be written."""
        for path, before in self._before.items():
            with suppress(OSError):
                status = os.lstat(path)
                is_empty = stat.S_ISREG(status.st_mode) and not status.st_size and not status.st_mode & _WRITABLE
                if is_empty and status.st_nlink == 1 and (status.st_dev, status.st_ino) != before:
                    os.unlink(path)  # noqa: PTH108


def _file_identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class _Trial(msgspec.Struct, frozen=True):
    """Whether a kind of sandbox works here."""

    problem: str = ""
    """Why it cannot be used; empty if it can."""
    note: str = ""
    """What a person should know about a sandbox that works; may be empty."""


async def _try(kind: SandboxKind, program: Path | None, settings: SandboxSettings) -> _Trial:
    """Run a program in this kind of sandbox. One that does not answer is tried again. `program`: path of bubblewrap."""
    if kind == "landlock" and (why := why_no_landlock()):
        return _Trial(why)
    if kind == "bubblewrap" and program is None:
        return _Trial("bubblewrap is not installed (apt install bubblewrap)")
    sandbox = Sandbox(kind, settings=settings, program=program)
    sandbox.why_no_loopback = "the run's network is made for its first command"
    with temp_folder("try") as folder:
        waited = list[str]()
        while True:
            seconds = _TRIED_SECONDS[len(waited)]
            env = command_env(os.environ)
            tried = await sandbox.run_unchecked(["true"], folder, cwd=folder, env=env, timeout=seconds)
            if tried.timed_out:
                waited.append(f"{seconds:g} s")
            if not tried.timed_out or len(waited) == len(_TRIED_SECONDS):
                break
    if tried.exit_code == 0:
        return _Trial(
            note=f"{kind} was tried again, because it did not answer in {', '.join(waited)}" if waited else ""
        )
    if tried.timed_out:
        return _Trial(f"{kind} is installed but did not answer in {', '.join(waited)}")
    notes = tried.error or tried.output.decode(errors="replace").strip().partition("\n")[0] or "it failed"
    return _Trial(f"{kind} is installed but does not work here ({notes})")


def _identity(program: Path) -> str:
    """Return a text that differs for another version of the program."""
    try:
        status = program.stat()
    except OSError:
        return ""
    return f"{program} {status.st_ino} {status.st_size} {status.st_mtime_ns}"


def _is_empty_tree(path: Path) -> bool:
    is_folder = path.is_dir() and not path.is_symlink()
    return is_folder and not any(files for _, _, files in os.walk(path))
