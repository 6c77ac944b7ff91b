"""Which modules of the program run, in the order in which each is first called, and through which others."""

from __future__ import annotations

import itertools
import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import NamedTuple, Self

_PACKAGE = "/rundry/"
_LOOK = 0.02
"""Seconds between two looks for the notes of a process."""


class Called(NamedTuple):
    """The first of the calls that reach a module on one way."""

    at: int
    """Its number among these calls."""
    above: list[str]
    """The modules above it, the nearest first."""


class Traced:
    """Notes calls of the package's functions in all threads that begin meanwhile, from a moment on.

    As a context manager. A module is named by its path in the repository.
    """

    def __init__(self, starts_with: str | None, starts: Callable[[], bool] = lambda: True) -> None:
        """`starts_with`: the module with whose first call the notes begin, or None if they begin with any.

        `starts`: whether they may begin yet.
        """
        self._first, self._may_start = starts_with, starts
        self.called: dict[str, list[Called]] = {}
        """By module: its calls, one for each way that led to it."""
        self._count = itertools.count()

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
        if not self.called and not (self._first in (None, name) and self._may_start()):
            return
        above, outer = list[str](), frame.f_back
        while outer is not None:
            module = _module(outer)
            if module is not None and module != name and (not above or above[-1] != module):
                above.append(module)
            outer = outer.f_back
        ways = self.called.setdefault(name, [])
        if all(way.above != above for way in ways):
            ways.append(Called(next(self._count), above))

    @staticmethod
    def of_process(notes: Path, within: float) -> Traced:
        """Return what a process has noted at its end, which comes within some seconds; see `traced_process.py`."""
        end = time.monotonic() + within
        while not notes.exists():
            assert time.monotonic() < end, f"no process wrote {notes.name}"
            time.sleep(_LOOK)
        traced = Traced(None)
        rows: dict[str, list[tuple[int, list[str]]]] = json.loads(notes.read_text())
        traced.called = {name: [Called(*row) for row in found] for name, found in rows.items()}
        return traced

    def faults(self, walk: Sequence[str]) -> list[str]:
        """Return what is wrong with a walk: what was not called, not in this order, or only through what it leaves out.

        A call may begin outside of the walk (in a thread, a task, or the loop of the runner), and a module may also be
        called earlier than the walk comes to it.
        """
        faults, at, before = list[str](), 0, ""
        for name in walk:
            ways = self.called.get(name, [])
            later = [way.at for way in ways if way.at >= at]
            if later:
                at, before = min(later), name
            else:
                faults.append(f"{before} was called after {name}" if ways else f"{name} was not called")
        for name in walk[1:]:
            between = [_until(way.above, walk) for way in self.called.get(name, [])]
            if between and [] not in between:
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
