"""Build the seccomp filter of commands: a classic BPF program that refuses system calls which no namespace separates.

`system_calls.toml` has the numbers. The program reads the ABI, the number of the call and its arguments, but no memory.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from functools import cache
from pathlib import Path

import msgspec

from ..host.toml_tables import read_table

_FILE = Path(__file__).with_name("system_calls.toml")
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
"""LD|W|ABS, JMP|JEQ|K, JMP|JGE|K and RET|K of linux/bpf_common.h."""
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
"""Offsets in `struct seccomp_data`. Each argument has 8 bytes, the lower half first on these processors."""
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
"""SECCOMP_RET_ALLOW and SECCOMP_RET_ERRNO, to which the error is added."""
_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, 16)
"""The families that commands use; 16 is AF_NETLINK. Others reach the kernel or, like AF_VSOCK, the host."""
_SOCKET_CALLS = (1, 8)
"""SYS_SOCKET and SYS_SOCKETPAIR of socketcall(2)."""


class _Abi(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    arch: int
    refused: dict[str, int]
    sockets: list[int]
    prlimit: int
    x32: int | None = None
    socketcall: int | None = None


def filter_program(machine: str | None = None, *, limits_others: bool) -> bytes:
    """Return the program as an array of `struct sock_filter`.

    Returns empty if the numbers for this processor are not known. `machine`: the processor, as uname(2) names it;
    default: this one. `limits_others`: whether a command may change the resource limits of other processes
    (prlimit(2)), which it needs to set those of its children.
    """
    abis = _table().get(os.uname().machine if machine is None else machine)
    if abis is None:
        return b""
    words = [_step(_LOAD, _ARCH)]
    for abi in abis.values():
        words += _when(abi.arch, [*_of_abi(abi, limits_others=limits_others), _step(_RETURN, _ALLOW)])
    return b"".join([*words, _refuse(errno.ENOSYS)])


def _of_abi(abi: _Abi, *, limits_others: bool) -> list[bytes]:
    words = [_step(_LOAD, _NUMBER)]
    if abi.x32 is not None:
        words += [_step(_AT_LEAST, abi.x32, 0, 1), _refuse(errno.ENOSYS)]
    for number in abi.refused.values():
        words += _when(number, [_refuse(errno.ENOSYS)])
    families = [word for family in _FAMILIES for word in _when(family, [_step(_RETURN, _ALLOW)])]
    for number in abi.sockets:
        words += _when(number, [_step(_LOAD, _ARGUMENTS), *families, _refuse(errno.EAFNOSUPPORT)])
    if abi.socketcall is not None:
        calls = [word for call in _SOCKET_CALLS for word in _when(call, [_refuse(errno.ENOSYS)])]
        words += _when(abi.socketcall, [_step(_LOAD, _ARGUMENTS), *calls, _step(_RETURN, _ALLOW)])
    if not limits_others:
        words += _when(abi.prlimit, _own_limits())
    return words


def _own_limits() -> list[bytes]:
    """Allow prlimit(2) for the own process, and to read the limits of others: the third argument is then NULL."""
    new = _ARGUMENTS + 2 * 8
    return [
        _step(_LOAD, _ARGUMENTS),
        *_when(0, [_step(_RETURN, _ALLOW)]),
        _step(_LOAD, new),
        *_when(0, [_step(_LOAD, new + 4), *_when(0, [_step(_RETURN, _ALLOW)])]),
        _refuse(errno.EPERM),
    ]


def _when(value: int, then: list[bytes]) -> list[bytes]:
    """Run these instructions if the loaded value is equal to `value`."""
    return [_step(_EQUAL, value, 0, len(then)), *then]


def _refuse(error: int) -> bytes:
    return _step(_RETURN, _ERROR | error)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """Return one instruction. `if_true`, `if_false`: how many of the following ones are skipped."""
    return struct.pack("=HBBI", code, if_true, if_false, value)


@cache
def _table() -> dict[str, dict[str, _Abi]]:
    return read_table(_FILE, dict[str, dict[str, _Abi]])
