"""One kind of sandbox: its guarantees, and the argument lists of sandboxed commands."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from ..host.own_temp import own_temp
from ..host.real_paths import followed, home_path, real_path
from ..protocol.text.path_text import quoted_path
from ..repo.git_folders import find_folders, repository_places
from .bubblewrap import Layout, Stage, bubblewrap
from .command_access import NO_ACCESS, Access, npm_cache
from .egress.allowed_hosts import HostList
from .egress.proxy import Egress
from .hidden_places import HiddenPlaces, HideRules
from .home_places import is_at_home
from .landlock import can_block_tcp, landlock
from .loopback import Loopback
from .probe.guarantees import NotHeld, not_held
from .probe.run_attacks import ProbeResult
from .readable_places import readable_places
from .refused_access import Conditions, MissingAccess, find_missing_access
from .sandbox_mounts import Places, links_to, mountable, tool_folders
from .secret_places import outermost
from .service_sockets import socket_folders, sockets_of_services
from .start_command import Apart
from .unseen_places import unseen_dependencies, unseen_line, unseen_places
from .visible_programs import program_places

if TYPE_CHECKING:
    from ..host.processes.processes import Finished
    from ..protocol import SandboxKind
    from .command_access import LayerAccess

_PROCESSES = 2_048
"""Maximum number of processes of one command, against fork bombs. It does not limit root (setrlimit(2))."""

_CONFIRMED = ("write_outside", "truncate_outside", "read_secret", "tcp")
"""The guarantees without which no command starts before somebody has seen it (mode `effects` as a default)."""
_SOCKETS = "unix_socket"
"""The guarantee that commands reach no socket of a service."""
_MOST_NAMED = 3
_REPLACED = (Path("/tmp"), Path("/var/tmp"), Path("/dev"), Path("/proc"), Path("/run"))
"""Folders of which each command has its own."""


class UnitView(Protocol):
    """Where a unit of work runs its commands."""

    @property
    def access(self) -> LayerAccess:
        """How a command enters it."""
        ...

    def outside(self, path: Path) -> Path:
        """Return the path that commands know for a path in the view."""
        ...


class SandboxSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the commands of a sandbox can see and reach."""

    hide_rules: HideRules = HideRules()
    """Places that commands cannot read."""
    network: bool = False
    hosts: Sequence[str] = ()
    """Hosts that commands without a network reach through a proxy."""
    search_path: str | None = None
    """The PATH whose folders commands must not change."""
    stage: Stage | None = None
    """What appears instead of the workspace."""


_DEFAULTS = SandboxSettings()


class Confinement:
    """A sandbox of kind bubblewrap or Landlock, or none. `Confinement()` does not restrict commands."""

    def __init__(
        self,
        kind: SandboxKind | None = None,
        why_none: str = "",
        settings: SandboxSettings = _DEFAULTS,
        *,
        program: Path | None = None,
        probed: ProbeResult | None = None,
    ) -> None:
        """`program`: path of bubblewrap. `probed`: the result of `probe`."""
        self.kind: SandboxKind | None = kind
        """`bubblewrap`, `landlock` or None."""
        self.why_none = why_none
        """Why there is no sandbox, or why it is not bubblewrap, and how to fix that; one line."""
        self.network = settings.network or kind is None or (kind == "landlock" and not can_block_tcp())
        """Whether commands reach the network: it is allowed, or the sandbox cannot prevent it."""
        self._settings = settings
        self._program = program or Path("bwrap")
        self._probed = probed or ProbeResult()
        self.hosts = HostList(settings.hosts)
        self._egress: Egress | None = None
        self._temp: Path | None = None
        self._loopback: Loopback | None = None
        self._joining = threading.Lock()
        self._reachable: list[Path] = []
        """Sockets of services that commands can reach."""
        self.trial_notes: list[str] = []
        """What a person should know about how this sandbox was chosen, one line each."""
        self.further_hidden = set[Path]()
        """Names that hidden files got while commands ran."""
        self.why_no_loopback = ""
        """Why commands do not share a loopback network; empty if they do."""
        self.network_words: Sequence[str] = ()
        """The words before bubblewrap that join the network of the run, where layers make it."""
        self.layers: Path | None = None
        """A folder of rundry in the workspace or its repository that commands see empty."""
        self.unit: UnitView | None = None
        """The view of the workspace in which all commands run. None means the workspace itself."""

    def missing(self, *, denied: bool = True) -> list[NotHeld]:
        """Return the guarantees that this sandbox does not give; before `probe`, all of them.

        `denied`: whether a rule denies a path.
        """
        found = not_held(self._probed.verdicts, offline=not self._settings.network, denied=denied)
        if not self._reachable:
            return found
        line = f"sockets of services that commands can reach: {_listed(self._reachable)}"
        named = NotHeld(_SOCKETS, line, f"socket {quoted_path(self._reachable[0].name)}")
        return [named if one.name == _SOCKETS else one for one in found] + (
            [] if any(one.name == _SOCKETS for one in found) else [named]
        )

    @property
    def shares_loopback(self) -> bool:
        """Whether the commands without network share one of their own, in which they see the ports of each other.

        Known when the first of them has started. Landlock lets them open none.
        """
        return self.kind == "bubblewrap" and (bool(self.network_words) or self._loopback is not None)

    @property
    def is_confirmed(self) -> bool:
        """Whether commands were seen to be kept from files outside, secrets and the network, so that they may start."""
        return self.kind is not None and not any(one.name in _CONFIRMED for one in self.missing())

    def reachable_sockets(self, ws: Path) -> list[Path]:
        """Return the sockets of services that commands can reach in places that they see. `ws`: the workspace.

        Landlock does not hide a socket that cannot be read.
        """
        ws = Path(os.path.realpath(ws))
        if self.kind != "bubblewrap":
            return sockets_of_services()
        hidden_places = self._hidden_places(ws)
        visible = Places([*self._readable_places(ws, hidden_places), ws])
        folders = Places(socket_folders())
        return [
            path
            for path in sockets_of_services()
            if path in visible and not hidden_places.covers(path) and (path not in folders or path.is_relative_to(ws))
        ]

    @property
    def not_held(self) -> list[str]:
        """List what a command can do despite the sandbox, one line each."""
        if self.kind is None:
            return ["everything that you can do"]
        return [*([self._probed.why] if self._probed.why else []), *(one.line for one in self.missing())]

    @property
    def notes(self) -> list[str]:
        """List how the sandbox was chosen, and what it does not hide although a variable or the user does."""
        return [*self.trial_notes, *self._settings.hide_rules.notes()] if self.kind is not None else []

    @property
    def temp(self) -> Path:
        """The temp folder of all commands of a run, which bubblewrap shows as /tmp.

        Only the user can read it, and it is removed with this object.
        """
        if self._temp is None:
            self._temp = own_temp(self)
        return self._temp

    @property
    def temp_seen(self) -> Path:
        """The temp folder as commands see it."""
        return Path("/tmp") if self.kind == "bubblewrap" else self.temp

    def wrap(
        self,
        argv: list[str],
        ws: Path,
        access: Access = NO_ACCESS,
        *,
        git: Sequence[Path] | None = None,
        report: int = -1,
    ) -> list[str]:
        """Return the argument list that runs `argv` in the sandbox, or `argv` itself if there is no sandbox.

        `git`: nested git folders that bubblewrap keeps read-only. None means also that of the workspace. `report`: the
        descriptor of a `SetUp`.
        """
        if self.kind is None:
            return argv
        ws, access, _ = self._placed(ws, access)
        ws = Path(os.path.realpath(ws))
        if self.network:
            access = msgspec.structs.replace(access, network=True)
        if self.kind == "landlock":
            return self._landlock(argv, ws, access, report)
        hidden_places = self._hidden_places(ws, None if access.layer is None else access.layer.copy)
        readable = self._readable_places(ws, hidden_places)
        named = [Path.home(), *tool_folders(), *hidden_places.at_home, *self._settings.hide_rules.show]
        layout = Layout(
            ws=ws,
            temp=self.temp,
            hidden_places=hidden_places,
            readable=readable,
            links=links_to(named, readable),
            socket_folders=socket_folders(),
            programs=program_places(ws, self._settings.search_path),
            stage=self._settings.stage,
            git=git,
            layers=self.layers,
        )
        joined = self._joined(access)
        env = self._egress.env if self._egress is not None and joined and not access.network else {}
        env = {**env, **(access.layer.env if access.layer is not None else {})}
        return bubblewrap(
            self._program, argv, layout, access, processes=_PROCESSES, report=report, joined=joined, env=env
        )

    def words_in(self, layer: LayerAccess, ws: Path) -> list[str]:
        """Return the words that start a program in a layer of the workspace, as the machine is now."""
        return self.wrap([""], ws, Access(layer=layer))[:-1]

    def _placed(self, ws: Path, access: Access, cwd: Path | None = None) -> tuple[Path, Access, Path]:
        """Return the workspace, the permissions and the folder of a command, as the view of a unit of work needs them.

        `cwd`: the folder in which the command starts. None means the one of its layer, or the workspace.
        """
        unit = self.unit
        if unit is None:
            return ws, access, cwd or ws
        layer = access.layer or unit.access
        cwd = unit.outside(cwd or layer.cwd or ws)
        read_only = [unit.outside(path) for path in access.read_only]
        layer = msgspec.structs.replace(layer, cwd=cwd)
        return unit.outside(ws), msgspec.structs.replace(access, layer=layer, read_only=read_only), cwd

    def _joined(self, access: Access) -> Sequence[str]:
        """Return the words before a command that enter its layer, and the network of the run."""
        if access.layer is not None and access.layer.copy is None:
            return access.layer.online if access.network else access.layer.offline
        return [] if access.network else self._join()

    def _landlock(self, argv: list[str], ws: Path, access: Access, report: int) -> list[str]:
        stage, layer = self._settings.stage, access.layer
        hidden_places, hidden, shown = self._hidden_places(ws), list[Path](), list[Path]()
        if layer is not None:  # a name of a hidden file may exist in the layer alone
            names = sorted(path for path in self.further_hidden if path.is_relative_to(ws))
            hidden_places = msgspec.structs.replace(hidden_places, hidden=sorted({*hidden_places.hidden, *names}))
        if layer is not None and layer.copy is not None:
            hidden, shown, layer = [*layer.places], [*layer.shown], None
            hidden_places = msgspec.structs.replace(hidden_places, hidden=[*hidden_places.hidden, *hidden])
        covered = [*layer.places, *layer.caches] if layer is not None and not access.keeps_workspace else ()
        own = landlock(
            argv,
            ws,
            temp=self.temp,
            hidden_places=hidden_places,
            network=access.network or layer is not None,  # a layer has a network of its own
            writable=[*access.writable, *access.live, *covered],
            processes=_PROCESSES,
            report=report,
            read=[source for source, _ in stage.mounts] if stage is not None else shown,
            show=[*self._settings.hide_rules.show, *repository_places(ws), *access.readable],
            keeps_workspace=access.keeps_workspace,
            apart=Apart(cwd=layer.cwd) if layer is not None else self._apart(),
            env={**npm_cache(access, self.temp), **(access.layer.env if access.layer is not None else {})},
        )
        return [*self._joined(access), *own] if layer is not None else own

    def _apart(self) -> Apart | None:
        """Return how a command of Landlock outside of layers is kept from their folder, or None if it cannot see it."""
        return None if self.layers is None else Apart(hidden=[self.layers])

    def _readable_places(self, ws: Path, hidden_places: HiddenPlaces) -> list[Path]:
        """Return what commands see read-only under bubblewrap, besides the workspace."""
        found = find_folders(ws)
        stores = found.alternates if found is not None else []
        more = (*self._settings.hide_rules.show, *repository_places(ws), *stores)
        return mountable(readable_places(hidden_places, more), self.temp)

    def hidden_below(self, ws: Path) -> list[Path]:
        """Return the places in this folder that commands cannot read."""
        return [place for place in self._hidden_places(ws).hidden if place.is_relative_to(ws)]

    def _hidden_places(self, ws: Path, copy: Path | None = None) -> HiddenPlaces:
        """`copy`: the folder that bubblewrap shows at `ws`."""
        return self._hide_rules().resolve(ws, self._root(copy))

    def _hide_rules(self) -> HideRules:
        rules = self._settings.hide_rules
        return msgspec.structs.replace(rules, hide=(*rules.hide, *self.further_hidden))

    def _root(self, copy: Path | None = None) -> Path | None:
        """Return the folder that commands see at the workspace, if it is another one."""
        seen = self._settings.stage.folder if self._settings.stage is not None and self.kind == "bubblewrap" else copy
        return None if seen is None else Path(os.path.realpath(seen))

    def _join(self) -> list[str]:
        """Return the arguments that join a command to the run's loopback network; none if it has no such network."""
        if self.network_words:
            return list(self.network_words)
        with self._joining:
            if self._loopback is None and not self.why_no_loopback:
                try:
                    self._loopback = Loopback(self._program)
                except (OSError, subprocess.TimeoutExpired) as error:
                    self.why_no_loopback = f"a check cannot reach a server that a command started: {error}"
        return [] if self._loopback is None else self._loopback.words

    def open_egress(self) -> str:
        """Start the proxy to the listed hosts, once. Return why they cannot be reached; empty if they can."""
        if not self.hosts.entries or self.network or self._egress is not None:
            return ""
        if self.kind != "bubblewrap":
            return "[sandbox] hosts works only with bubblewrap: commands have no network"
        if not (join := self._join()):
            return f"[sandbox] hosts does not work here ({self.why_no_loopback}): commands have no network"
        try:
            self._egress = Egress(self.hosts, join)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"[sandbox] hosts does not work here ({error}): commands have no network"
        return ""

    def unseen(self, done: Finished, ws: Path, access: Access = NO_ACCESS) -> str:
        """Return a line that names what a failed command could not see and the setting that shows it; may be empty."""
        if self.kind is None or not done.exit_code:
            return ""
        ws, access, _ = self._placed(ws, access)
        places = unseen_places(done, Path(os.path.realpath(ws)), self._is_seen(ws, access))
        return unseen_line(places) if places else ""

    def dependencies_note(self, ws: Path) -> list[str]:
        """Return a line that names packages of the workspace whose folders commands cannot see, if there are any."""
        if self.kind is None:
            return []
        found = unseen_dependencies(Path(os.path.realpath(ws)), self._is_seen(ws, NO_ACCESS))
        return [unseen_line(list(dict.fromkeys(one.place for one in found))[:_MOST_NAMED])] if found else []

    def shown_at_home(self, ws: Path) -> list[str]:
        """Return what commands can read of the home folder, the outermost places, as the user writes them."""
        if self.kind is None:
            return []
        found = self._hidden_places(Path(os.path.realpath(ws)))
        places = [*map(followed, (*found.at_home, *self._settings.hide_rules.show))]
        return [home_path(path) for path in outermost([p for p in places if p is not None and is_at_home(p)])]

    def _is_seen(self, ws: Path, access: Access) -> Callable[[Path], bool]:
        """Return what tells whether commands read a path. What a rule denies and rundry's own folders count as read.

        The places are found when it is asked first: most failed commands name none.
        """
        ws, own = Path(os.path.realpath(ws)), Places(_REPLACED)

        @cache
        def places() -> tuple[Places, Places, Places]:
            rules = msgspec.structs.replace(self._settings.hide_rules, denied=None)
            hidden_places = rules.resolve(ws)
            more = (ws, self.temp, *access.writable, *access.readable)
            seen = Places([*self._readable_places(ws, hidden_places), *map(real_path, more), *hidden_places.own])
            secret = Places([path for path in hidden_places.hidden if path not in hidden_places.own])
            return seen, secret, Places(hidden_places.shown)

        def is_seen(path: Path) -> bool:
            seen, secret, shown = places()
            visible = path in seen or (path in own and not is_at_home(path))
            return visible and (path not in secret or path in shown)

        return is_seen

    def refused(
        self,
        done: Finished,
        ws: Path,
        access: Access = NO_ACCESS,
        *,
        command: str = "",
    ) -> MissingAccess | None:
        """Return what the sandbox refused to a failed command; None if no refusal was recognized.

        `access`: the permissions that the command ran with.
        """
        if self.kind is None:
            return None
        ws, access, _ = self._placed(ws, access)
        real_ws = Path(os.path.realpath(ws))
        conditions = Conditions(
            kind=self.kind,
            ws=real_ws,
            temp=self.temp,
            command=command,
            network=access.network or self.network,
            hide_rules=self._hide_rules(),
            root=self._root(),
            writable=access.writable,
            read_only=access.read_only if self.kind == "bubblewrap" else (),
        )
        return find_missing_access(done, conditions)


def _listed(paths: Sequence[Path]) -> str:
    more = len(paths) - _MOST_NAMED
    return ", ".join(quoted_path(str(path)) for path in paths[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
