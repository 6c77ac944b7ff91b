"""Machines on which layers do not work, because the system refuses calls (seccomp(2)).

As a program: `python -P machines.py MACHINE PROGRAM [WORD...]` runs a program, and all that it starts, on one.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from pathlib import Path

MACHINES = {
    "bubblewrap": "overlays cannot be mounted, and bubblewrap works, as before Linux 5.11",
    "landlock": "mounts and namespaces are refused, as in containers, and Landlock works",
    "no sandbox": "mounts and namespaces are refused, and Landlock is missing",
}
_NUMBERS = {"x86_64": (165, 272, 56, 435), "aarch64": (40, 97, 220, 435)}
"""Numbers of mount, unshare, clone and clone3."""
_LANDLOCK, _NO_CALL = 444, 0xFFFFFFFF
"""Number of landlock_create_ruleset, and of no call."""
_NAMESPACES = 0x7E020000
"""Flags of clone that make namespaces (clone(2))."""
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_FIRST_ARGUMENT, _FOURTH_ARGUMENT = 16, 40
_REFUSE, _MISSING, _ALLOW = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS, 0x7FFF0000
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2


def words_for(machine: str) -> list[str]:
    """Return the words that start a program on a machine."""
    return [sys.executable, "-P", str(Path(__file__).resolve()), machine]


def _rows(machine: str) -> list[tuple[int, int, int, int]]:
    mount, unshare, clone, clone3 = _NUMBERS[platform.machine()]
    if machine == "bubblewrap":  # it mounts nothing without flags; an overlay is mounted without any
        return [
            (_LOAD, 0, 0, 0),
            (_EQUAL, 0, 3, mount),
            (_LOAD, 0, 0, _FOURTH_ARGUMENT),
            (_EQUAL, 0, 1, 0),
            (_RETURN, 0, 0, _REFUSE),
            (_RETURN, 0, 0, _ALLOW),
        ]
    return [
        (_LOAD, 0, 0, 0),
        (_EQUAL, 7, 0, _LANDLOCK if machine == "no sandbox" else _NO_CALL),
        (_EQUAL, 5, 0, mount),
        (_EQUAL, 4, 0, unshare),
        (_EQUAL, 4, 0, clone3),
        (_EQUAL, 0, 4, clone),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_ANY_BIT, 0, 2, _NAMESPACES),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _MISSING),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _main() -> None:
    """Install the filter, and become the program."""
    rows = _rows(sys.argv[1])
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(rows), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(_SECCOMP, _FILTER, program):
        raise OSError(ctypes.get_errno(), "no filter of system calls can be installed")
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    _main()
