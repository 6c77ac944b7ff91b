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
"""Maximum number of processes of one command, against fork bombs. It does not limit root (setrlimit(2))."""


class Confinement:
    """A sandbox of kind bubblewrap or Landlock, or none. `Confinement()` does not restrict commands."""

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
        """`unseen`: places that commands cannot read. `network`: commands may use it. `program`: path of bubblewrap.

        `search_path`: the PATH whose folders commands must not change. `probed`: the result of `probe`.
        `hosts`: hosts that commands without a network reach through a proxy.
        """
        self.kind = kind
        """`bubblewrap`, `landlock` or None."""
        self.why_none = why_none
        """Why there is no sandbox, or why it is not bubblewrap: one line that says how to fix it."""
        self.network = network or kind is None or (kind == "landlock" and not holds_network())
        """Whether commands reach the network: it is allowed, or the sandbox cannot prevent it."""
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
        """Why commands do not share a loopback network; empty if they do."""

    def missing(self, *, denied: bool = True) -> list[NotHeld]:
        """Return the guarantees that this sandbox does not give. Before `probe`, these are all guarantees.

        `denied`: whether a rule denies a path.
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
        """The temp folder of all commands of a run, which bubblewrap shows as /tmp.

        Only the user can read it, and it is removed with this object.
        """
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
        """Return the argument list that runs `argv` in the sandbox, or `argv` itself if there is no sandbox.

        `network`, `writable`: additional permissions of this command. `read_only`: workspace files that cannot be
        written; only bubblewrap enforces this. `empty`: a folder below `temp` for this command alone.
        `git`: how repositories appear; by default bubblewrap makes them read-only. `seen`: as in `Sandbox.run`.
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
        """Return the arguments that join a command to the run's loopback network; none if it has no such network."""
        if self._loopback is None and not self.why_apart:
            try:
                self._loopback = Loopback(self._program)
            except (OSError, subprocess.TimeoutExpired) as error:
                self.why_apart = f"a check cannot reach a server that a command started: {error}"
        return [] if self._loopback is None else self._loopback.words

    def open_egress(self) -> str:
        """Start the proxy to the listed hosts, once. Return why they cannot be reached; empty if they can."""
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
        """Return what the sandbox refused to a failed command; None if no refusal was recognized.

        `network`, `writable`: the permissions that the command ran with.
        """
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
