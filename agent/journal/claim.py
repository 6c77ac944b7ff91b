"""Ensure that a run has only one runner, with an operating-system lock that ends with its process."""

from __future__ import annotations

import fcntl
import os
import platform
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from ..protocol import JournalError, RunHeld
from ..protocol.text.broken_json import BROKEN_JSON

_ATTEMPTS = 6
_PAUSE = 0.01
"""Seconds between attempts: `holder` locks the file briefly, which must not look like another runner."""


class Holder(msgspec.Struct, frozen=True):
    """The process that executes a run."""

    pid: int
    host: str
    since: float
    """Unix seconds."""


class Claim:
    """The right to execute a run, until it is released or the process ends."""

    def __init__(self, path: Path, descriptor: int) -> None:
        """For internal use: call `claim` to create one."""
        self.path = path
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Release the run for other runners; a second call does nothing."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.ftruncate(descriptor, 0)
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def claim(path: Path) -> Claim:
    """Claim the run of this journal. Raises RunHeld, with the process id of the holder, if another runner has it."""
    try:
        # Close-on-exec: a child that inherited the descriptor would keep the lock after our death.
        descriptor = os.open(_lock_file(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise JournalError(
            f"the run at {path} cannot be locked: {error.strerror}. Copy it with `rundry backup {path.stem} FILE`, and "
            "resume that file"
        ) from error
    try:
        if not _lock(descriptor, fcntl.LOCK_EX, _ATTEMPTS):
            raise RunHeld(_held_text(path, _read(descriptor)))
        os.fchmod(descriptor, 0o600)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, msgspec.json.encode(Holder(os.getpid(), platform.node(), time.time())), 0)
    except OSError as error:
        os.close(descriptor)
        raise JournalError(f"the run at {path} cannot be locked: {error.strerror}") from error
    except RunHeld:
        os.close(descriptor)
        raise
    return Claim(path, descriptor)


def holder(path: Path) -> Holder | None:
    """Return the process that executes this journal's run. None means nobody. Does not keep the lock."""
    try:
        descriptor = os.open(_lock_file(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise JournalError(f"cannot find out which process executes {path}: {error.strerror}") from error
    try:
        if _lock(descriptor, fcntl.LOCK_SH, 1):
            return None
        return _read(descriptor) or Holder(0, "", 0.0)
    except OSError as error:
        raise JournalError(f"cannot find out which process executes {path}: {error.strerror}") from error
    finally:
        os.close(descriptor)


def _lock_file(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def _lock(descriptor: int, kind: int, attempts: int) -> bool:
    for attempt in range(attempts):
        if attempt:
            time.sleep(_PAUSE)
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        return True
    return False


def _read(descriptor: int) -> Holder | None:
    try:
        return msgspec.json.decode(os.pread(descriptor, 4096, 0), type=Holder)
    except BROKEN_JSON:  # the file is locked right now, but its content is not written yet
        return None


def _held_text(path: Path, held: Holder | None) -> str:
    if held is None:
        return f"another process executes {path.stem}: `rundry watch {path.stem}` shows it"
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(held.since))
    return (
        f"{path.stem} is executed by process {held.pid} on {held.host or 'this machine'} since {since}: "
        f"`rundry watch {path.stem}` shows it"
    )
