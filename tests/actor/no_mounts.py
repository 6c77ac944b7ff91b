"""A machine that refuses mounts and namespaces, as containers do by default: bubblewrap and layers do not work there.

As a program: `python -m actor.no_mounts PROGRAM [WORD...]` runs a program, and all that it starts, on such a machine.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys

_NUMBERS = {"x86_64": (165, 272, 56, 435), "aarch64": (40, 97, 220, 435)}
"""Numbers of mount, unshare, clone and clone3."""
_NAMESPACES = 0x7E020000
"""Flags of clone that make namespaces (clone(2))."""
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_REFUSE, _ALLOW = 0x00050000, 0x7FFF0000
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2


def main() -> None:
    """Install the filter (seccomp(2)), and become the program."""
    mount, unshare, clone, clone3 = _NUMBERS[platform.machine()]
    refuse, missing = _REFUSE | errno.EPERM, _REFUSE | errno.ENOSYS
    rows = [
        (_LOAD, 0, 0, 0),
        (_EQUAL, 5, 0, mount),
        (_EQUAL, 4, 0, unshare),
        (_EQUAL, 4, 0, clone3),
        (_EQUAL, 0, 4, clone),
        (_LOAD, 0, 0, 16),
        (_ANY_BIT, 0, 2, _NAMESPACES),
        (_RETURN, 0, 0, refuse),
        (_RETURN, 0, 0, missing),
        (_RETURN, 0, 0, _ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(rows), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(_SECCOMP, _FILTER, program):
        raise OSError(ctypes.get_errno(), "no filter of system calls can be installed")
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
