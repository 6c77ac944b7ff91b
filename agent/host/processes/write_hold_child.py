"""Change mounts in another process's mount namespace: `python -I write_hold_child.py PID ro|rw MOUNT...`.

Exit code 0: all mounts were changed; otherwise none was. Does not import other modules of rundry.
"""

import ctypes
import errno
import os
import sys
import time
from fcntl import ioctl

_NEW_USER, _NEW_NS = 0x10000000, 0x00020000
"""Constants of clone(2)."""
_REMOUNT, _BIND, _READ_ONLY, _NOSUID, _NODEV = 32, 4096, 1, 2, 4
"""Constants of mount(2)."""
_GET_USERNS = 0xB701
"""Request of ioctl_ns(2)."""
_TRIES, _PAUSE = 20, 0.005


def remount(pid: int, mounts: list[str], *, read_only: bool) -> bool:
    """Change all of these mounts, or none. Return whether they were changed."""
    libc = ctypes.CDLL(None, use_errno=True)
    spaces = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY)
    owner = ioctl(spaces, _GET_USERNS)
    with open("/proc/self/ns/user", "rb", buffering=0) as mine:  # noqa: PTH123 - pathlib costs 5 ms here
        is_own = os.fstat(owner).st_ino == os.fstat(mine.fileno()).st_ino
    if (not is_own and libc.setns(owner, _NEW_USER)) or libc.setns(spaces, _NEW_NS):
        return False
    done: list[str] = []
    flags = _REMOUNT | _BIND | _NOSUID | _NODEV
    for mount in mounts:
        failed = 1
        for _ in range(_TRIES):
            failed = libc.mount(None, os.fsencode(mount), None, flags | (_READ_ONLY if read_only else 0), None)
            if not failed or ctypes.get_errno() != errno.EBUSY:
                break
            time.sleep(_PAUSE)  # a file is open for writing, often only for a moment
        if failed:
            for other in done:
                libc.mount(None, os.fsencode(other), None, flags, None)
            return False
        done.append(mount)
    return True


if __name__ == "__main__":
    sys.exit(0 if remount(int(sys.argv[1]), sys.argv[3:], read_only=sys.argv[2] == "ro") else 1)
