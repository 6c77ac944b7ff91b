"""The permissions of one command, in addition to those that the sandbox gives to every command."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..host.real_paths import is_file, real_path
from .home_places import installations_of

if TYPE_CHECKING:
    from ..host.processes.process_tree import ProcessTree


_TEMP = frozenset((Path("/tmp"), Path("/var/tmp")))
"""Temp folders of the machine, in place of which commands have their own."""


class LayerAccess(msgspec.Struct, frozen=True, kw_only=True):
    """How a command enters a layer over the workspace. Everything in the layer may be written."""

    offline: Sequence[str]
    """The words before the command, for the run's own network."""
    online: Sequence[str]
    """The same for the machine's network."""
    places: Sequence[Path]
    """The folders that the layer covers and the command can write to. Other places are as without the layer."""
    caches: Sequence[Path] = ()
    """Caches of package managers that it covers, too, so that the command can fill them. Their changes are dropped."""
    cwd: Path | None = None
    """The folder in which the command starts; entering a layer leads to the root."""
    copy: Path | None = None
    """The folder that is the workspace for the command, where there are no layers. bubblewrap shows it at the path of
    the workspace, elsewhere the command runs in it, and cannot read the workspace. Then the command enters no layer."""
    shown: Sequence[Path] = ()
    """Folders of the workspace that a command in a copy can read nevertheless."""
    begin: Callable[[ProcessTree], object] | None = None
    """Called with the processes of the command when they have started, or None if nobody watches how much they
    write."""

    @property
    def env(self) -> dict[str, str]:
        """Variables that the command needs there: which folders git looks for its own in."""
        if self.copy is not None:  # no repository above it is meant
            return {"GIT_CEILING_DIRECTORIES": str(self.copy.parent)}
        return {"GIT_DISCOVERY_ACROSS_FILESYSTEM": "1"} if len(self.places) > 1 else {}


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """Additional permissions of one command. The default adds none."""

    network: bool = False
    writable: Sequence[Path] = ()
    """Files and folders outside of the workspace that the command can write."""
    readable: Sequence[Path] = ()
    """Folders that the command sees as they are on the machine, although the sandbox hides or replaces them."""
    read_only: Sequence[Path] = ()
    """Workspace files that cannot be written; only bubblewrap enforces this."""
    keeps_workspace: bool = False
    """Whether the whole workspace is read-only for the command."""
    live: Sequence[Path] = ()
    """Folders of the workspace that can be written although `keeps_workspace`."""
    empty: Path | None = None
    """A folder below the temp folder that is empty and private for this command."""
    layer: LayerAccess | None = None
    """The layer in which the command runs. None means that it writes to the workspace itself."""


NO_ACCESS = Access()
_NPM_CACHE = "_cacache"


def npm_cache(access: Access, temp: Path) -> dict[str, str]:
    """Return the variable that gives npm a cache in the temp folder, unless it can write to the user's.

    npm can do nothing with a cache that it cannot write to. `temp`: as the command sees it.
    """
    caches = () if access.layer is None else access.layer.caches
    is_writable = any(place.name == _NPM_CACHE for place in caches) and not access.keeps_workspace
    return {} if is_writable else {"npm_config_cache": str(temp / ".npm")}


def _packages_of_node(program: Path) -> list[Path]:
    """Return the `node_modules` that a program of npm is a part of: it loads its other packages from there."""
    return [place for place in reversed(program.parents) if place.name == "node_modules"][:1]


def programs_of_user(command: str | Sequence[str], ws: Path) -> list[Path]:
    """Return the folders of the programs that a command of the user names by absolute paths.

    The result includes the installation of each program, such as a virtual environment or a `node_modules`, and that of
    the program to which a link leads. For a program directly in the home folder, or above it, it includes the program
    alone. It omits the workspace and programs directly in a temp folder: commands have their own temp folder, in which
    a check such as `cc -o /tmp/p p.c && /tmp/p` creates the program. `command`: a command line or an argument list.
    """
    try:
        words = shlex.split(command) if isinstance(command, str) else command
    except ValueError:  # an open quotation mark
        return []
    files = [
        path for word in words if word.startswith("/") and (path := Path(word)).parent not in _TEMP and is_file(path)
    ]
    shown = [path if Path.home().is_relative_to(path.parent) else path.parent for path in files]
    for path in files:
        shown += [*installations_of(path), *_packages_of_node(real_path(path))]
    return [place for place in shown if not real_path(place).is_relative_to(real_path(ws))]
