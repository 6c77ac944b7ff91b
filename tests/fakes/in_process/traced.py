"""Which modules of the program run, in the order in which each is first called, and through which others."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import Self

_PACKAGE = "/rundry/"


class Traced:
    """Notes calls of the package's functions in all threads that begin meanwhile, from a moment on.

    As a context manager. A module is named by its path in the repository.
    """

    def __init__(self, starts_with: str, starts: Callable[[], bool] = lambda: True) -> None:
        """`starts_with`: the module with whose first call the notes begin. `starts`: whether they may begin yet."""
        self._first, self._may_start = starts_with, starts
        self.called: dict[str, list[list[str]]] = {}
        """By module, in the order of first calls: the modules above each kind of call, the nearest first."""

    def __enter__(self) -> Self:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or (name := _module(frame)) is None:
            return
        if not self.called and not (name == self._first and self._may_start()):
            return
        above, outer = list[str](), frame.f_back
        while outer is not None:
            module = _module(outer)
            if module is not None and module != name and (not above or above[-1] != module):
                above.append(module)
            outer = outer.f_back
        ways = self.called.setdefault(name, [])
        if above not in ways:
            ways.append(above)

    def faults(self, walk: Sequence[str]) -> list[str]:
        """Return what is wrong with a walk: what was not called, not in this order, or only through what it leaves out.

        A call may begin outside of the walk (in a thread, a task, or the loop of the runner).
        """
        order = [*self.called]
        faults = [f"{name} was not called" for name in walk if name not in self.called]
        found = [name for name in walk if name in self.called]
        faults += [
            f"{one} was called after {other}"
            for one, other in itertools.pairwise(found)
            if order.index(one) > order.index(other)
        ]
        for name in found[1:]:
            between = [_until(above, walk) for above in self.called[name]]
            if [] not in between:
                faults.append(f"{name} is only reached through {' and '.join(min(between, key=len))}")
        return faults


def _until(above: Sequence[str], walk: Sequence[str]) -> list[str]:
    """Return what lies between a call and the next module of the walk above it; nothing if none is above it."""
    for n, module in enumerate(above):
        if module in walk:
            return list(above[:n])
    return []


def _module(frame: FrameType) -> str | None:
    file = frame.f_code.co_filename
    at = file.find(_PACKAGE)
    return None if at < 0 or "/site-packages/" in file or "<" in frame.f_code.co_name else file[at + len(_PACKAGE) :]
