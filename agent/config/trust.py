"""Trust in the config files of a workspace: they apply only after a person trusted them (docs/requirements.md 11.4)."""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ..protocol import ConfigError
from ..protocol.text.broken_json import BROKEN_JSON
from .folders import user_folder

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

    def trusted(self, workspace: Path, content: Content | None = None) -> bool:
        """Return whether the person trusted exactly these files, or there are none."""
        content = content or Content(workspace)
        return not content.files or self._load().get(_name(workspace)) == content.digest

    def trust(self, workspace: Path) -> list[str]:
        """Trust the workspace until one of its files changes. Returns the names of these files. Raises ConfigError."""
        content = Content(workspace)
        self._add({_name(workspace): content.digest})
        return sorted(content.files)

    def item_is_trusted(self, workspace: Path, place: str, digest: str) -> bool:
        """Return whether the person trusted exactly this content of a skill or slash command. Raises ConfigError."""
        return self._load().get(_item(workspace, place)) == digest

    def trust_items(self, workspace: Path, digests: Mapping[str, str]) -> None:
        """Trust skills and slash commands of the workspace, by place, with these digests. Raises ConfigError."""
        if digests:
            self._add({_item(workspace, place): digest for place, digest in digests.items()})

    def _add(self, digests: Mapping[str, str]) -> None:
        try:
            self.store.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.open(self.store.with_suffix(".lock"), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                self._save({**self._load(), **digests})
            finally:
                os.close(lock)
        except OSError as error:
            raise ConfigError(f"{self.store} cannot be written: {error.strerror}") from error

    def _load(self) -> dict[str, str]:
        try:
            return msgspec.json.decode(self.store.read_bytes(), type=dict[str, str])
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise ConfigError(f"{self.store} cannot be read: {error.strerror}") from error
        except BROKEN_JSON as error:
            raise ConfigError(f"{self.store} is damaged ({error}): delete it, then trust your folders again") from error

    def _save(self, digests: dict[str, str]) -> None:
        fresh = self.store.with_name(f"{self.store.name}.{os.getpid()}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(digests), indent=2))
            file.flush()
            os.fsync(descriptor)
        fresh.replace(self.store)


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
