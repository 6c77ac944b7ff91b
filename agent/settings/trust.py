"""Trust in the config files of a workspace: they apply only after a person trusted them (docs/requirements.md 11.4)."""

from __future__ import annotations

import hashlib
import os
import stat
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..host.plain_files import read_plain, reader_of, walk_folders
from ..protocol import ConfigError
from .user_folders import Store, user_folder

PROJECT_FILE = ".rundry.toml"
PROJECT_SERVERS = ".mcp.json"
"""MCP servers of a project, in the form that several clients read."""
PROJECT_RECIPES = ".rundry/recipes"
_PARTS = (PROJECT_FILE, PROJECT_SERVERS, ".env", ".rundry/hooks", PROJECT_RECIPES, ".git/hooks")
_LARGEST = 1 << 20
"""Maximum size in bytes of one file. A larger file is not a config."""
_MOST_FOLDERS = 5_000
"""Maximum number of folders in which spec files are looked for: half a second."""


def _paths(place: Path) -> list[Path]:
    """Return the files of a folder, or the file itself. Raises ConfigError."""
    try:
        return sorted(place.iterdir()) if place.is_dir() else [place]
    except OSError as error:
        raise ConfigError(f"{place} cannot be read: {error.strerror}") from None


class Content:
    """The files of a workspace that need trust. They are read once, so that the checked content is what is used."""

    def __init__(self, workspace: Path) -> None:
        """Raises ConfigError for a file that cannot be read."""
        self.files: dict[str, bytes] = {}
        """Content by path relative to the workspace."""
        for part in _PARTS:
            place = workspace / part
            for path in _paths(place):
                if path.suffix != ".sample" and (data := _read(path)) is not None:
                    self.files[path.relative_to(workspace).as_posix()] = data

    @property
    def digest(self) -> str:
        """SHA-256 of names and contents, in hex."""
        whole = hashlib.sha256()
        for name, data in sorted(self.files.items()):
            whole.update(f"{len(name)}:{name}:{len(data)}:".encode())
            whole.update(data)
        return whole.hexdigest()


class Trust:
    """The store of trusted workspaces, with the digests of their files."""

    def __init__(self, store: Path | None = None, env: Mapping[str, str] | None = None) -> None:
        """`store`: default is `trust.json` in the user's data folder."""
        self.store = store or user_folder("data", os.environ if env is None else env) / "trust.json"
        self._digests = Store(self.store, str, again="trust your folders again")

    def trusted(self, workspace: Path, content: Content | None = None) -> bool:
        """Return whether the person trusted exactly these files, or there are none."""
        content = content or Content(workspace)
        return not content.files or self._digests.load().get(_name(workspace)) == content.digest

    def trust(self, workspace: Path) -> list[str]:
        """Trust the workspace's files and each of its spec files until they change. Returns their names.

        Raises ConfigError.
        """
        specs = {path: hashlib.sha256(data).hexdigest() for path, data in _spec_files(workspace)}
        self._digests.add({_file(path.resolve()): digest for path, digest in specs.items()})
        return sorted({*self.trust_config(workspace), *(path.relative_to(workspace).as_posix() for path in specs)})

    def trust_config(self, workspace: Path) -> list[str]:
        """Trust the workspace's files until one changes, but not its spec files. Returns names. Raises ConfigError."""
        content = Content(workspace)
        self._digests.add({_name(workspace): content.digest})
        return sorted(content.files)

    def file_is_trusted(self, path: Path, digest: str) -> bool:
        """Return whether the person trusted exactly this spec file. `path`: resolved. Raises ConfigError."""
        return self._digests.load().get(_file(path)) == digest

    def item_is_trusted(self, workspace: Path, place: str, digest: str) -> bool:
        """Return whether the person trusted exactly this content of a skill or slash command. Raises ConfigError."""
        return self._digests.load().get(_item(workspace, place)) == digest

    def trust_items(self, workspace: Path, digests: Mapping[str, str]) -> None:
        """Trust skills and slash commands of the workspace, by place, with these digests. Raises ConfigError."""
        if digests:
            self._digests.add({_item(workspace, place): digest for place, digest in digests.items()})


def _name(workspace: Path) -> str:
    return str(workspace.resolve())


def _item(workspace: Path, place: str) -> str:
    """Return the name of a skill or slash command in the store. A resolved path never contains `//`."""
    return f"{_name(workspace)}//{place}"


def _file(path: Path) -> str:
    """Return the name of a spec file in the store. `path`: resolved."""
    return f"{path.parent}//spec file {path.name}"


def _spec_files(workspace: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the spec files of a workspace: TOML with a task. Hidden folders and node_modules have none but recipes."""
    for number, (folder, folders, files) in enumerate(walk_folders(workspace)):
        if number == _MOST_FOLDERS:
            return
        is_top = Path(folder) == workspace
        kept = [name for name in folders if not name.startswith(".") and name != "node_modules"]
        folders[:] = [*kept, *([".rundry"] if is_top and ".rundry" in folders else [])]
        for name in files:
            path = Path(folder, name)
            if name.endswith(".toml") and name != PROJECT_FILE and (data := _spec_content(path)) is not None:
                yield path, data


def _spec_content(path: Path) -> bytes | None:
    """Return the content of a spec file, or None if it is something else."""
    try:
        data = read_plain(path, _LARGEST)
        return data if "task" in tomllib.loads(data.decode()) else None
    except (OSError, ValueError, RecursionError):
        return None


def _read(path: Path) -> bytes | None:
    """Return the content, or None if this is not a regular file. Opening never blocks. Raises ConfigError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    with reader_of(descriptor) as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > _LARGEST:
            raise ConfigError(f"{path} is too large for a config file: at most {_LARGEST:,} bytes")
        return file.read(_LARGEST)
