"""Protect the predicate's process from other processes, and prevent it from executing code that is not approved."""

# Paths are compared as texts, as the import system and audit events give them.
# ruff: noqa: PTH100, PTH123

import ctypes
import os
import sys
from types import CodeType
from typing import Any

from .approved_imports import Approved
from .remote_objects import CannotJudge

_SET_DUMPABLE, _DROP_FROM_BOUNDING_SET, _SET_NO_NEW_PRIVS = 4, 24, 38  # linux/prctl.h
_CAPABILITIES_V3 = 0x20080522
_CAPSET = {"x86_64": 126, "aarch64": 91, "riscv64": 91}
_OWN_FILES = frozenset({0, 1, 3})
"""Capabilities for files, which root keeps. The others would allow it to read other processes."""


def close_to_others() -> bool:
    """Stop other processes of this user from accessing this one's memory and open files. False if not supported.

    This process and its children also drop the capabilities that would still allow it to root.
    """
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0):
        return False
    number = _CAPSET.get(os.uname().machine)
    if os.geteuid() != 0:
        return True
    if number is None:
        return False
    kept = sum(1 << bit for bit in _OWN_FILES) & _effective()
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_V3, 0)
    data = (ctypes.c_uint32 * 6)(kept, kept, 0, 0, 0, 0)
    return not libc.syscall(number, header, data)


def _effective() -> int:
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        return next((int(line.split()[1], 16) for line in file if line.startswith("CapPrm:")), 0)


class AuditHook:
    """An audit hook that refuses to execute unapproved files of the workspace. Audit hooks cannot be removed."""

    def __init__(self, approved: Approved, own: str) -> None:
        """Create the hook. `own`: path of the predicate's file, which may be executed."""
        self._approved, self._own = approved, own
        self._read: set[str] = set()
        self._is_looking = False

    def __call__(self, event: str, arguments: Any) -> None:  # noqa: ANN401 - differs by event
        """Handle one audit event. Raises CannotJudge."""
        if self._is_looking:
            return
        self._is_looking = True
        try:
            self._judge(event, arguments)
        finally:
            self._is_looking = False

    def _judge(self, event: str, arguments: Any) -> None:  # noqa: ANN401
        match event, arguments:
            case "exec", (CodeType() as code, *_) if self._is_foreign(code.co_filename):
                self._refuse(code.co_filename)
            case "compile", (str() | bytes() as source, *_):
                self._compile(source)
            case "open", (str() | bytes() as path, *_) if self._is_foreign(os.fsdecode(path)):
                self._read.add(os.path.abspath(os.fsdecode(path)))
            case "ctypes.dlopen", (str() as path, *_) if "/" in path and self._is_foreign(path):
                self._refuse(path)
            case "import", (_, str() as path, *_) if self._is_foreign(path):
                self._refuse(path)
            case "pickle.find_class", _ if self._read:
                self._refuse(f"a pickle (it may come from {min(self._read)})")
            case _:
                pass

    def _is_foreign(self, path: str) -> bool:
        if not path or path.startswith("<") or path == self._own or "\0" in path:
            return False
        return self._approved.is_inside(path) and not self._approved.is_approved(path)

    def _compile(self, source: str | bytes) -> None:
        text = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
        for path in self._read if text.strip() else ():
            try:
                with open(path, "rb") as file:
                    is_from_there = text.strip() in file.read()
            except OSError:
                continue
            if is_from_there and len(text.strip()) > 1:
                self._refuse(path)

    def _refuse(self, what: str) -> None:
        raise CannotJudge(f"it would execute {what}, which is not guarded: import it, or run it with subprocess")
