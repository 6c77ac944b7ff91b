"""Find the process that holds a lock file, so that a person who waits knows for whom. From /proc (proc(5), Linux)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_SHOWN = 60
"""Characters of a command line that are shown."""


def lock_holder(lock: Path, folder: Path | None = None, program: str = "git") -> str:
    """Return `process 4711 (git commit -m x)` if a process has the file open; an empty text if the holder is unknown.

    Git closes its lock files, so a process of this program that works in `folder` is named as the probable holder.
    """
    beside: str = ""
    for pid in _pids():
        if _has_open(pid, lock):
            return _named(pid)
        if not beside and folder is not None and _works_in(pid, folder, program):
            beside = f"probably {_named(pid)}"
    return beside


def _pids() -> Iterator[int]:
    with suppress(OSError), os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdecimal() and int(entry.name) != os.getpid():
                yield int(entry.name)


def _has_open(pid: int, lock: Path) -> bool:
    with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
        for descriptor in descriptors:
            with suppress(OSError):
                if Path(descriptor.path).readlink() == lock:
                    return True
    return False


def _works_in(pid: int, folder: Path, program: str) -> bool:
    with suppress(OSError):
        words = _words(pid)
        return bool(words) and Path(words[0]).name == program and Path(f"/proc/{pid}/cwd").readlink() == folder
    return False


def _named(pid: int) -> str:
    line = " ".join(_words(pid))
    if len(line) > _SHOWN:
        line = f"{line[: _SHOWN - 1]}…"
    return f"process {pid} ({line})" if line else f"process {pid}"


def _words(pid: int) -> list[str]:
    try:
        data = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it ended meanwhile
        return []
    return [word.decode("utf-8", "replace") for word in data.split(b"\0") if word]
