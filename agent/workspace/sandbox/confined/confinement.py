"""One kind of sandbox: its guarantees, and the argument lists of sandboxed commands."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ...own_temp import own_temp
from ...processes.processes import Finished
from ..bubblewrap import Stage, bubblewrap
from ..egress import Egress, HostList
from ..gitbox import GitMounts
from ..gitbox.folders import repository_places
from ..landlock import holds_network, landlock
from ..loopback import Loopback
from ..probe import NotHeld, Probed, not_held
from ..refused import Held, Need, find_need
from .programs import program_places
from .sight import Sight, Unseen

_PROCESSES = 2_048
"""At once, of one command: a fork bomb ends there. Root has no such limit (setrlimit(2))."""


class Confinement:
    """bubblewrap, Landlock, or nothing. `Confinement()` restricts nothing."""

    def __init__(
        self,
        kind: str | None = None,
        why_none: str = "",
        unseen: Unseen = Unseen(),  # noqa: B008 - frozen
        *,
        network: bool = False,
        program: Path | None = None,
        search_path: str | None = None,
        probed: Probed | None = None,
        hosts: Sequence[str] = (),
    ) -> None:
        """`unseen`: what commands cannot read. `network`: they may use it. `program`: where bubblewrap stands.

        `search_path`: the PATH whose folders commands must not change. `probed`: what `probe` found.
        `hosts`: what commands reach through a proxy although they have no network.
        """
        self.kind = kind
        """`bubblewrap`, `landlock` or None."""
        self.why_none = why_none
        """Why there is no sandbox, or only the second choice: one line that says how to fix it."""
        self.network = network or kind is None or (kind == "landlock" and not holds_network())
        """Commands reach the network: they may, or nothing holds it."""
        self._may_use_network = network
        self._unseen = unseen
        self._program = program or Path("bwrap")
        self._search_path = search_path
        self._probed = probed or Probed()
        self.hosts = HostList(hosts)
        self._egress: Egress | None = None
        self._temp: Path | None = None
        self._loopback: Loopback | None = None
        self._stage: Stage | None = None
        self.why_apart = ""
        """Why each command has a loopback network of its own, where that is so."""

    def missing(self, *, denied: bool = True) -> list[NotHeld]:
        """Return the guarantees that this sandbox does not give; all of them before `probe`.

        `denied`: a rule denies a path.
        """
        return not_held(self._probed.verdicts, offline=not self._may_use_network, denied=denied)

    @property
    def not_held(self) -> list[str]:
        """List what a command can do despite the sandbox, one line each."""
        if self.kind is None:
            return ["everything that you can do"]
        return [*([self._probed.why] if self._probed.why else []), *(one.line for one in self.missing())]

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
        seen: Sequence[Path] = (),
    ) -> list[str]:
        """The argument list that runs `argv` in the sandbox; `argv` itself where there is none.

        `network`, `writable`: what is let through to this command besides what all may. `read_only`: files of the
        workspace that only bubblewrap keeps from being written. `empty`: a folder below `temp` that is this command's.
        `git`: how it sees repositories; without it they are read-only under bubblewrap. `seen`: as in `Sandbox.run`.
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
                show=[*self._unseen.show, *repository_places(ws), *seen],
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
            programs=program_places(ws, self._search_path),
            read_only=read_only,
            empty=empty,
            joined=joined,
            env=self._egress.env if self._egress is not None and joined else {},
            stage=self._stage,
            git=git or GitMounts([]),
            seen=seen,
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

    def open_egress(self) -> str:
        """Start the proxy to the listed hosts, once. Returns why they cannot be reached; empty where they can."""
        if not self.hosts.entries or self.network or self._egress is not None:
            return ""
        if self.kind != "bubblewrap":
            return "[sandbox] hosts works only with bubblewrap: commands have no network"
        if not (join := self._join()):
            return f"[sandbox] hosts does not work here ({self.why_apart}): commands have no network"
        try:
            self._egress = Egress(self.hosts, join)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"[sandbox] hosts does not work here ({error}): commands have no network"
        return ""

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
