"""Where commands run: with write access to the workspace and a temp folder only, and no network unless it is allowed.

bubblewrap where it works, else Landlock where the kernel has it. Where there is neither, `kind` is None and nothing is
held back: whoever shows it says so.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from .bubblewrap import Stage, bubblewrap, find_bubblewrap, mounts_not_held
from .confined import Sight, Unseen, command_env
from .family import Family
from .gitbox import GitGuard, GitMounts
from .gitbox.around import Around
from .landlock import holds_network, landlock, not_held, why_no_landlock
from .loopback import Loopback
from .own_temp import own_temp, sweep_temp, temp_folder
from .processes import FULL, Finished, run_process, shell
from .refused import Held, Need, find_need

_PROCESSES = 2_048
"""At once, of one command: a fork bomb ends there. Root has no such limit (setrlimit(2))."""
_TRIED_SECONDS = 5.0
WAYS = ("bubblewrap", "landlock")
"""The better one first."""


class Sandbox:
    """One way to hold a command back, tried once. `Sandbox()` holds nothing."""

    def __init__(
        self,
        kind: str | None = None,
        why_none: str = "",
        unseen: Unseen = Unseen(),  # noqa: B008 - frozen
        *,
        network: bool = False,
        program: Path | None = None,
    ) -> None:
        """`unseen`: what commands cannot read. `network`: they may use it. `program`: where bubblewrap stands."""
        self.kind = kind
        """`bubblewrap`, `landlock` or None."""
        self.why_none = why_none
        """Where there is none, or only the second best: why, one line with the mend."""
        self.network = network or kind is None or (kind == "landlock" and not holds_network())
        """Commands reach the network: they may, or nothing holds it."""
        self._unseen = unseen
        self._program = program or Path("bwrap")
        self._temp: Path | None = None
        self._loopback: Loopback | None = None
        self._stage: Stage | None = None
        self._guards: dict[Path, GitGuard] = {}
        self.why_apart = ""
        """Why each command has a loopback network of its own, where that is so."""

    @staticmethod
    async def detect(
        hide: Sequence[Path] = (),
        *,
        unseen: Unseen = Unseen(),  # noqa: B008 - frozen
        network: bool = False,
        workspace: Path | None = None,
        ways: Sequence[str] = WAYS,
    ) -> Sandbox:
        """What works here: each way is tried. A bubblewrap that stands in the workspace is not taken.

        `hide`: what commands cannot read although the user may show it (the runs with their journals).
        """
        unseen = msgspec.structs.replace(unseen, own=(*unseen.own, *hide))
        await asyncio.to_thread(sweep_temp)
        why: list[str] = []
        for way in ways:
            found, not_this = await _try(way, unseen, network, workspace)
            if found is not None:
                found.why_none = "; ".join(why)
                return found
            why.append(not_this)
        return Sandbox(None, f"no sandbox: {'; '.join(why)}")

    def staged(self, stage: Stage, hide: Sequence[Path] = ()) -> Sandbox:
        """The same sandbox with another folder in place of the workspace, a temp folder and a loopback of its own.

        `hide`: what commands may not read besides. Landlock shows nothing in another place: there the command runs in
        the folder itself, and what the stage mounts can be read although it is hidden.
        """
        unseen = msgspec.structs.replace(self._unseen, own=(*self._unseen.own, *hide))
        found = Sandbox(self.kind, self.why_none, unseen, network=self.network, program=self._program)
        found._stage = stage
        return found

    def apart(self) -> Sandbox:
        """The same sandbox with a temp folder and a loopback of its own, for another tree of the run."""
        return Sandbox(self.kind, self.why_none, self._unseen, network=self.network, program=self._program)

    @property
    def not_held(self) -> list[str]:
        """What a command can do although the sandbox holds it, a line each."""
        match self.kind:
            case None:
                return ["everything that you can do"]
            case "landlock":
                return not_held(network=self.network)
            case _:
                return mounts_not_held(network=self.network)

    @property
    def temp(self) -> Path:
        """The temp folder of all commands of a run, owner-only, gone with this object; bubblewrap shows it as /tmp."""
        if self._temp is None:
            self._temp = own_temp(self)
        return self._temp

    def wrap(
        self,
        argv: list[str],
        ws: Path,
        *,
        network: bool = False,
        writable: Sequence[Path] = (),
        read_only: Sequence[Path] = (),
        empty: Path | None = None,
        git: GitMounts | None = None,
    ) -> list[str]:
        """The argument list that runs `argv` in the sandbox; `argv` itself where there is none.

        `network`, `writable`: what is let through to this command besides what all may. `read_only`: files of the
        workspace that only bubblewrap keeps from being written. `empty`: a folder below `temp` that is this command's.
        `git`: how it sees repositories; without it they are read-only under bubblewrap.
        """
        if self.kind is None:
            return argv
        ws = Path(os.path.realpath(ws))
        network = network or self.network
        if self.kind == "landlock":
            return landlock(
                argv,
                ws,
                temp=self.temp,
                sight=self._look(ws),
                network=network,
                writable=writable,
                processes=_PROCESSES,
                read=[source for source, _ in self._stage.mounts] if self._stage is not None else (),
            )
        joined = [] if network else self._join()
        return bubblewrap(
            self._program,
            argv,
            ws,
            temp=self.temp,
            sight=self._look(ws),
            network=network,
            writable=writable,
            processes=_PROCESSES,
            read_only=read_only,
            empty=empty,
            joined=joined,
            stage=self._stage,
            git=git or GitMounts([]),
        )

    def _look(self, ws: Path) -> Sight:
        seen = self._stage.folder if self._stage is not None and self.kind == "bubblewrap" else None
        return self._unseen.look(ws, None if seen is None else Path(os.path.realpath(seen)))

    def _join(self) -> list[str]:
        """The words that put a command into the run's loopback; none where there is no such thing here."""
        if self._loopback is None and not self.why_apart:
            try:
                self._loopback = Loopback(self._program)
            except (OSError, subprocess.TimeoutExpired) as error:
                self.why_apart = f"a check cannot reach a server that a command started: {error}"
        return [] if self._loopback is None else self._loopback.words

    def refused(
        self,
        done: Finished,
        ws: Path,
        *,
        command: str = "",
        network: bool = False,
        writable: Sequence[Path] = (),
        read_only: Sequence[Path] = (),
    ) -> Need | None:
        """What a command that failed was refused, where that can be told; `network`, `writable` as it was run with."""
        if self.kind is None:
            return None
        held_in = Path(os.path.realpath(ws))
        held = Held(
            kind=self.kind,
            ws=held_in,
            temp=self.temp,
            command=command,
            network=network or self.network,
            sight=self._look(held_in),
            writable=writable,
            read_only=read_only if self.kind == "bubblewrap" else (),
        )
        return find_need(done, held)

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
    ) -> Finished:
        """`run_process` in the sandbox.

        `may_configure`: whoever calls judges a `.rundry.toml` that the command made. Else a new one is moved aside, and
        the output says so: it must not be read as the person's at the next start (CVE-2026-25725).
        """
        argv = shell(command, ws) if isinstance(command, str) else command
        around = Around(ws, writable, judged=may_configure or self._stage is not None, guard=self._git_guard(ws))
        git = await around.begin(put_back=self.kind != "bubblewrap")
        try:
            done = await run_process(
                self.wrap(argv, ws, network=network, writable=writable, read_only=read_only, empty=empty, git=git),
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
        said = "".join(f"\n[rundry: {line}]\n" for line in settled.lines).encode()
        done = msgspec.structs.replace(done, repositories=settled.repositories)
        if apart:
            return msgspec.structs.replace(done, errors=done.errors + said)
        return msgspec.structs.replace(done, output=done.output + said, full=done.full + said) if said else done

    def _git_guard(self, ws: Path) -> GitGuard | None:
        """None: the command is not looked after, because a stage is gone afterwards or a person let all through."""
        if self._stage is not None or (self.kind is None and not self.why_none):
            return None
        ws = Path(os.path.realpath(ws))
        if ws not in self._guards:
            temp = self.temp.parent / f"git-{len(self._guards)}"
            self._guards[ws] = GitGuard(ws, temp, mounts=self.kind == "bubblewrap")
        return self._guards[ws]


async def _try(way: str, unseen: Unseen, network: bool, workspace: Path | None) -> tuple[Sandbox | None, str]:
    """The sandbox, or why it cannot be this one."""
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
    return None, f"{way} is there and does not work here ({said})"
