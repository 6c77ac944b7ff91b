"""Trust in the config files of a workspace: they apply only after a person trusted them (docs/requirements.md 11.4)."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from ..protocol import ConfigError
from .folders import Store, user_folder

PROJECT_FILE = ".rundry.toml"
_PARTS = (PROJECT_FILE, ".env", ".rundry/hooks", ".rundry/recipes", ".git/hooks")
_LARGEST = 1 << 20
"""Maximum size in bytes of one file. A larger file is not a config."""


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
        """Trust the workspace until one of its files changes. Returns the names of these files. Raises ConfigError."""
        content = Content(workspace)
        self._digests.add({_name(workspace): content.digest})
        return sorted(content.files)

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


def _read(path: Path) -> bytes | None:
    """Return the content, or None if this is not a regular file. Opening never blocks. Raises ConfigError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > _LARGEST:
            raise ConfigError(f"{path} is too large for a config file: at most {_LARGEST:,} bytes")
        return file.read(_LARGEST)
