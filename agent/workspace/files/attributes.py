"""Copy owner, mode and extended attributes to a file that replaces another one."""

from __future__ import annotations

import errno
import os
import stat

from .locked_file import READ


def copy_metadata(fd: int, folder: int, name: str, old: os.stat_result) -> bool:
    """Copy owner, mode and extended attributes of the old file to the open file `fd`. Return False if not possible."""
    try:
        new = os.fstat(fd)
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
            os.fchown(fd, old.st_uid, old.st_gid)
        os.fchmod(fd, stat.S_IMODE(old.st_mode))
        if hasattr(os, "listxattr"):
            _copy_attributes(fd, folder, name)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EINVAL):
            return False
        raise
    return True


def _copy_attributes(fd: int, folder: int, name: str) -> None:
    source = os.open(name, READ, dir_fd=folder)
    try:
        have = set(os.listxattr(fd))
        for attribute in os.listxattr(source):
            value = os.getxattr(source, attribute)
            if attribute not in have or os.getxattr(fd, attribute) != value:
                os.setxattr(fd, attribute, value)
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
    finally:
        os.close(source)
