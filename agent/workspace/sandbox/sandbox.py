"""Run commands with write access to the workspace and a temp folder only, and with the network only if allowed.

bubblewrap is used if it works, otherwise Landlock if the kernel supports it. If neither works, `kind` is None and
commands are not confined; the views show this.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from ..leftovers import Leftovers
from ..own_temp import sweep_temp, temp_folder
from ..processes.process_tree import Family
from ..processes.processes import FULL, Finished, run_process, shell
from .bubblewrap import Stage, find_bubblewrap
from .confined import Unseen, command_env
from .confined.confinement import Confinement
from .confined.programs import program_places
from .egress import HostList
from .gitbox import GitGuard
from .gitbox.around import Around
from .kept import Copies, KeptPlaces
from .landlock import why_no_landlock
from .probe import AttackStage, probe

_TRIED_SECONDS = 5.0
WAYS = ("bubblewrap", "landlock")
"""Kinds of sandbox, the better one first."""


class Sandbox(Confinement):
    """Runs commands in a sandbox of one kind, which was tried once. `Sandbox()` does not confine them."""

    _guards: dict[Path, GitGuard] | None = None
    _copies: Copies | None = None
    leftovers = Leftovers(None)
    """The record of files that would stay in the user's git folder if rundry were killed."""

    @staticmethod
    async def detect(
        hide: Sequence[Path] = (),
        *,
        unseen: Unseen = Unseen(),  # noqa: B008 - frozen
        network: bool = False,
        hosts: Sequence[str] = (),
        workspace: Path | None = None,
        ways: Sequence[str] = WAYS,
    ) -> Sandbox:
        """Return the first kind of sandbox that works here. A bubblewrap in the workspace is not used.

        `hide`: what commands cannot read although the user may show it (the runs with their journals).
        """
        unseen = msgspec.structs.replace(unseen, own=(*unseen.own, *hide))
        await asyncio.to_thread(sweep_temp)
        why: list[str] = []
        for way in ways:
            found, not_this = await _try(way, unseen, network, workspace)
            if found is not None:
                found.hosts = HostList(hosts)
                found.why_none = "; ".join(why)
                return found
            why.append(not_this)
        return Sandbox(None, f"no sandbox: {'; '.join(why)}")

    def staged(self, stage: Stage, hide: Sequence[Path] = ()) -> Sandbox:
        """Return a copy that shows another folder in place of the workspace, with its own temp folder and loopback.

        `hide`: further places that commands cannot read. Landlock cannot show a folder at another path: there the
        command runs in the folder itself, and can read what the stage mounts although it is hidden.
        """
        unseen = msgspec.structs.replace(self._unseen, own=(*self._unseen.own, *hide))
        found = self._another(unseen)
        found._stage = stage
        return found

    def apart(self) -> Sandbox:
        """Return a copy with its own temp folder and loopback, for another tree of the run."""
        return self._another(self._unseen)

    def _another(self, unseen: Unseen, hosts: Sequence[str] | None = None) -> Sandbox:
        found = Sandbox(
            self.kind,
            self.why_none,
            unseen,
            network=self._may_use_network,
            program=self._program,
            search_path=self._search_path,
            probed=self._probed,
            hosts=self.hosts.entries if hosts is None else hosts,
        )
        found.leftovers = self.leftovers
        return found

    async def probe(self, workspace: Path | None = None, *, fresh: bool = False) -> None:
        """Attack the sandbox from the inside, so that `missing` and `not_held` report what it does not guarantee here.

        `workspace`: the folder that commands can write to. `fresh`: ignore the stored result of an earlier probe.
        """
        if self.kind is None:
            return

        async def run(stage: AttackStage, argv: list[str]) -> Finished:
            unseen = Unseen(hide=(stage.hidden,), denied=lambda _: ["denied"])
            tried = self._another(unseen, hosts=[])
            tried._search_path = str(stage.programs)
            env = command_env(os.environ)
            return await tried.run(argv, stage.ws, cwd=stage.ws, env=env, timeout=_TRIED_SECONDS, apart=True)

        about = f"{self.kind} {self._may_use_network} {_identity(self._program)}"
        self._probed = await probe(run, about, workspace=workspace, fresh=fresh)

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
        writable: Sequence[Path] = (),
        read_only: Sequence[Path] = (),
        empty: Path | None = None,
        may_configure: bool = False,
        apart: bool = False,
        keep: int = FULL,
        on_start: Callable[[Family], object] | None = None,
        seen: Sequence[Path] = (),
    ) -> Finished:
        """Call `run_process` in the sandbox.

        `seen`: folders that the command can read although the sandbox shows something else there.

        `may_configure`: the caller itself checks a `.rundry.toml` that the command made. Otherwise a new one is moved
        aside and the output says so, because the next start would treat it as the user's own (CVE-2026-25725).
        """
        argv = shell(command, ws) if isinstance(command, str) else command
        around = Around(ws, writable, judged=may_configure or self._stage is not None, guard=self._git_guard(ws))
        if not network:
            await asyncio.to_thread(self.open_egress)
        asked = self._egress.mark() if self._egress is not None else {}
        more, copies = self._kept_places(ws)
        git = await around.begin(restore=self.kind != "bubblewrap", more=more, copies=copies)
        try:
            done = await run_process(
                self.wrap(
                    argv, ws, network=network, writable=writable, read_only=read_only, empty=empty, git=git, seen=seen
                ),
                cwd=cwd,
                env=env,
                timeout=timeout,
                limit=limit,
                on_output=on_output,
                stdin=stdin,
                apart=apart,
                keep=keep,
                on_start=on_start,
            )
        finally:
            settled = await asyncio.shield(around.settle())
        lines = [*settled.lines, *(self._egress.lines(asked) if self._egress is not None else [])]
        said = "".join(f"\n[rundry: {line}]\n" for line in lines).encode()
        done = msgspec.structs.replace(done, repositories=settled.repositories, restored=settled.changed_programs)
        if apart:
            return msgspec.structs.replace(done, errors=done.errors + said)
        return msgspec.structs.replace(done, output=done.output + said, full=done.full + said) if said else done

    def _kept_places(self, ws: Path) -> tuple[KeptPlaces, Copies | None]:
        """Return the places, in addition to the protected ones, that must be restored after a command."""
        if self.kind is None or self._stage is not None:
            return KeptPlaces(), None
        ws = Path(os.path.realpath(ws))
        hidden = [path for path in self._look(ws).hidden if path.is_relative_to(ws)]
        if self.kind == "bubblewrap":  # a command can rename a folder that contains a hidden file
            return KeptPlaces(hidden=hidden), None
        self._copies = self._copies or Copies(self.temp.parent / "kept")
        return KeptPlaces(program_places(ws, self._search_path), hidden), self._copies

    def _git_guard(self, ws: Path) -> GitGuard | None:
        """Return the guard of the git folders.

        None: the command runs on a stage, which is deleted afterwards, or the user disabled the sandbox.
        """
        if self._stage is not None or (self.kind is None and not self.why_none):
            return None
        ws = Path(os.path.realpath(ws))
        guards = self._guards = self._guards if self._guards is not None else {}
        if ws not in guards:
            place = self.temp.parent / f"git-{len(guards)}"
            guards[ws] = GitGuard(ws, place, self.leftovers, mounts=self.kind == "bubblewrap")
        return guards[ws]


async def _try(way: str, unseen: Unseen, network: bool, workspace: Path | None) -> tuple[Sandbox | None, str]:
    """Return the sandbox of this kind, or None and why it cannot be used."""
    if way == "landlock":
        if why := why_no_landlock():
            return None, why
        found = Sandbox("landlock", unseen=unseen, network=network)
    else:
        program = find_bubblewrap(workspace)
        if program is None:
            return None, "bubblewrap is not installed (apt install bubblewrap)"
        found = Sandbox("bubblewrap", unseen=unseen, network=network, program=program)
    with temp_folder("try") as folder:
        argv = found.wrap(["true"], folder)
        tried = await run_process(argv, cwd=folder, env=command_env(os.environ), timeout=_TRIED_SECONDS)
    if tried.exit_code == 0:
        return found, ""
    said = tried.error or tried.output.decode(errors="replace").strip().partition("\n")[0] or "it failed"
    return None, f"{way} is installed but does not work here ({said})"


def _identity(program: Path) -> str:
    """Return a text that differs for another version of the program."""
    try:
        status = program.stat()
    except OSError:
        return ""
    return f"{program} {status.st_ino} {status.st_size} {status.st_mtime_ns}"
