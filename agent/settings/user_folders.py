"""The user's own files: where they are, and stores that several runs change."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, Literal, TypeVar

import msgspec

from ..protocol import ConfigError
from ..protocol.text.broken_json import BROKEN_JSON

Value = TypeVar("Value")


def user_folder(kind: Literal["config", "data", "state"], env: Mapping[str, str]) -> Path:
    """Return rundry's folder of this kind: below XDG_CONFIG_HOME and the like, otherwise the system's default."""
    given = env.get(f"XDG_{kind.upper()}_HOME", "")
    if Path(given).is_absolute():
        return Path(given) / "rundry"
    import platformdirs  # costs 10 ms

    defaults = {
        "config": platformdirs.user_config_dir,
        "data": platformdirs.user_data_dir,
        "state": platformdirs.user_state_dir,
    }
    return Path(defaults[kind]("rundry"))


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold the lock of this file, so that no other process changes what it protects. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


class Store(Generic[Value]):
    """A file with JSON values by name. Several processes may change it: none loses what another one added."""

    def __init__(self, path: Path, value: type[Value], *, again: str) -> None:
        """`value`: the type of its values. `again`: what a person does after deleting a damaged file."""
        self.path = path
        self._value, self._again = value, again

    def load(self) -> dict[str, Value]:
        """Return all values; none if there is no file yet. Raises ConfigError."""
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=dict[str, self._value])
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be read: {error.strerror}") from error
        except BROKEN_JSON as error:
            raise ConfigError(f"{self.path} is damaged ({error}): delete it, then {self._again}") from error

    def add(self, values: Mapping[str, Value]) -> None:
        """Add or replace these values; they are on the disk when it returns. Raises ConfigError."""
        try:
            with locked(self.path.with_suffix(".lock")):
                self._save({**self.load(), **values})
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error.strerror}") from error

    def remove(self, name: str) -> bool:
        """Remove a value. Returns whether there was one. Raises ConfigError."""
        try:
            with locked(self.path.with_suffix(".lock")):
                values = self.load()
                if values.pop(name, None) is None:
                    return False
                self._save(values)
                return True
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error.strerror}") from error

    def _save(self, values: dict[str, Value]) -> None:
        fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(values), indent=2))
            file.flush()
            os.fsync(descriptor)
        fresh.replace(self.path)
