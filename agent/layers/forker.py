"""Make namespaces and mounts for one run: `python -I -S forker.py SOCKET`. Uses nothing but the standard library.

The process has no threads, so that it may make a user namespace and fork. Requests come as JSON on the socket, one at a
time. An answer is `{}` with descriptors, or `{"step": ..., "code": ..., "why": ...}`: the refused step, and the number
of the error. The first answer, without a request, has the user namespace, or no descriptor if none is needed. A
namespace lives as long as a descriptor of it, so nothing that is made here needs a process.

- `{"make": "network"}`: a network namespace with a loopback device of its own.
- `{"make": "layer", "folder", "covers": [{"lower", "upper", "work", "place"}], "hidden"}`: a mount namespace in which
  an overlay covers each folder `place`, and the folders `hidden` are empty. `lower`: folders, the uppermost first.
  Relative paths begin at `folder`, because mount options have at most 4,096 bytes. Answers with the namespace and each
  folder `place` in it.
- `{"make": "sealed", "places"}` with the namespace of a layer: the overlays at these places become read-only, for all
  processes and permanently. Refused as long as a file in it is open for writing anywhere, mapped, or on its way in a
  socket, or is deleted and still open.
- `{"make": "unused", "folder", "upper", "work"}`: refused as long as an overlay with this `upper` is mounted anywhere.
- `{"make": "processes"}`: refused if a command cannot have a PID namespace of its own.
"""

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import socket
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing would cost 4 ms
    from typing import Any

NEW_USER, NEW_MOUNTS, NEW_PROCESSES, NEW_NETWORK = 0x10000000, 0x00020000, 0x20000000, 0x40000000  # linux/sched.h
_READ_ONLY, _REMOUNT, _RECURSIVE, _PRIVATE = 1, 1 << 5, 1 << 14, 1 << 18  # linux/mount.h
_NO_SUID_DEVICES_PROGRAMS = 2 | 4 | 8
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1  # linux/sockios.h, linux/if.h
_ADMIN = 21
"""CAP_SYS_ADMIN: it may mount without a user namespace."""
_MOST = 1 << 16
_OPEN = os.O_RDONLY | os.O_CLOEXEC


class StepRefused(Exception):
    """The system refused a step."""

    def __init__(self, step: str, code: int, why: str = "") -> None:
        super().__init__(step)
        self.step, self.code, self.why = step, code, why or os.strerror(code)


def main(requests: socket.socket) -> None:
    """Answer requests until the socket is closed."""
    try:
        found = [] if _may_mount() else [_user_namespace()]
    except (StepRefused, OSError) as error:
        requests.send(_words(error))
        return
    socket.send_fds(requests, [b"{}"], found)
    while True:
        asked, given, *_ = socket.recv_fds(requests, _MOST, 1, socket.MSG_CMSG_CLOEXEC)
        if not asked:
            return
        child = os.fork()
        if child:
            for one in given:
                os.close(one)
            os.waitpid(child, 0)
            continue
        try:
            socket.send_fds(requests, [b"{}"], _made(json.loads(asked), given))
        except (StepRefused, OSError, ValueError, KeyError) as error:
            requests.send(_words(error))
        os._exit(0)


def _made(asked: "dict[str, Any]", given: list[int]) -> list[int]:
    make: str = asked["make"]
    if make == "network":
        return _network()
    if make == "processes":
        return _processes()
    if make == "sealed":
        return _sealed(asked["places"], given[0])
    return _unused(asked) if make == "unused" else _layer(asked)


def _may_mount() -> bool:
    with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123 - without pathlib it starts faster
        held = next(line.split()[1] for line in status if line.startswith("CapEff"))
    return bool(int(held, 16) >> _ADMIN & 1)


def _user_namespace() -> int:
    """Enter a user namespace in which the user has their own id, and no other exists."""
    user, group = os.geteuid(), os.getegid()
    _unshare(NEW_USER, "user namespace")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        try:
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123
                file.write(text)
        except OSError as error:  # Ubuntu 24.04 makes the namespace and then refuses what it is for
            raise StepRefused("user namespace", error.errno or 0, f"{name}: {error.strerror}") from None
    return os.open("/proc/self/ns/user", _OPEN)


def _network() -> list[int]:
    _unshare(NEW_NETWORK, "network namespace")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        flags = fcntl.ioctl(any_socket, _GET_FLAGS, struct.pack("16sH14x", b"lo", 0))
        up = struct.unpack("16sH14x", flags)[1] | _UP
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14x", b"lo", up))
    return [os.open("/proc/self/ns/net", _OPEN)]


def _processes() -> list[int]:
    """Make what a command without bubblewrap gets: a PID namespace, which the user needs a user namespace for."""
    if not _may_mount():
        _user_namespace()
    _unshare(NEW_MOUNTS, "mount namespace")
    _unshare(NEW_PROCESSES, "PID namespace")
    first = os.fork()
    if not first:
        os._exit(0)
    os.waitpid(first, 0)
    return []


def _sealed(places: "list[str]", namespace: int) -> list[int]:
    if _libc().setns(ctypes.c_int(namespace), ctypes.c_int(NEW_MOUNTS)):
        raise StepRefused("mount namespace", ctypes.get_errno())
    for place in places:
        _mount(None, place, None, _REMOUNT | _READ_ONLY, None, "seal")
    return []


def _unused(asked: "dict[str, Any]") -> list[int]:
    """Mount an overlay with the same upper folder, exclusively: the kernel refuses it if one is mounted."""
    _unshare(NEW_MOUNTS, "mount namespace")
    _mount("none", "/", None, _RECURSIVE | _PRIVATE, None, "private mounts")
    os.chdir(asked["folder"])
    options = f"userxattr,index=on,lowerdir=.,upperdir={_escaped(asked['upper'])},workdir={_escaped(asked['work'])}"
    try:
        _mount("overlay", ".", "overlay", 0, options, "in use")
    except StepRefused as refused:
        if refused.code != errno.EINVAL:  # its work folder was used with `volatile`, which is noticed later
            raise
    return []


def _layer(asked: "dict[str, Any]") -> list[int]:
    _unshare(NEW_MOUNTS, "mount namespace")
    _mount("none", "/", None, _RECURSIVE | _PRIVATE, None, "private mounts")
    os.chdir(asked["folder"])
    for cover in asked["covers"]:
        _cover(cover)
    for cache in asked["caches"]:
        with contextlib.suppress(StepRefused):  # it stays as it is; whoever asked looks, and lets nobody write there
            _cover(cache)
    for place in asked["hidden"]:
        _mount("tmpfs", place, "tmpfs", _READ_ONLY | _NO_SUID_DEVICES_PROGRAMS, "mode=0755", "hidden folder")
    covers = [*asked["covers"], *asked["caches"]]
    places = [os.open(cover["place"], _OPEN | os.O_DIRECTORY) for cover in covers]
    return [os.open("/proc/self/ns/mnt", _OPEN), *places]


def _cover(cover: "dict[str, Any]") -> None:
    lowers = ":".join(map(_escaped, cover["lower"]))
    upper = f"lowerdir={lowers},upperdir={_escaped(cover['upper'])},workdir={_escaped(cover['work'])}"
    try:
        _mount("overlay", cover["place"], "overlay", 0, f"userxattr,volatile,{upper}", "overlay")
    except StepRefused as refused:
        if refused.code != errno.EINVAL:
            raise
        # `volatile` needs Linux 5.10
        _mount("overlay", cover["place"], "overlay", 0, f"userxattr,{upper}", "overlay")


def _escaped(path: str) -> str:
    """Return a path as an option of an overlay (overlayfs.rst): a backslash comes before what separates options."""
    for one in ("\\", ":", ","):
        path = path.replace(one, f"\\{one}")
    return path


def _unshare(flags: int, step: str) -> None:
    if _libc().unshare(ctypes.c_int(flags)):
        raise StepRefused(step, ctypes.get_errno())


def _mount(source: str | None, place: str, kind: str | None, flags: int, options: str | None, step: str) -> None:
    words = [None if one is None else os.fsencode(one) for one in (source, place, kind, options)]
    if _libc().mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]):
        raise StepRefused(step, ctypes.get_errno())


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _words(error: Exception) -> bytes:
    known = (
        error
        if isinstance(error, StepRefused)
        else StepRefused("namespaces", getattr(error, "errno", None) or 0, str(error))
    )
    return json.dumps({"step": known.step, "code": known.code, "why": known.why}).encode()


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
