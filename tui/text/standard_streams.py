"""The standard streams of a command: what happens where one is closed, or can no longer be written."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import TYPE_CHECKING

from .first_frame import close_early

if TYPE_CHECKING:
    from typing_extensions import Buffer

_STREAMS = 3


class OutputFailed(OSError):
    """Standard output cannot be written: its disk is full, or the device failed."""


class _Output(io.FileIO):
    """Standard output. Its errors have a type of their own, unlike those of files that the command writes."""

    def write(self, data: Buffer, /) -> int | None:
        close_early()
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputFailed(error.errno, error.strerror) from error


class _Errors(io.FileIO):
    """Standard error. What cannot be written there is dropped, because there is no other place to report it."""

    def write(self, data: Buffer, /) -> int | None:
        close_early()
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def prepare_streams() -> None:
    """Make text that the terminal cannot show visible, and errors of the streams distinct.

    What is printed closes a frame that was opened before the command line was parsed, so that it is not printed there.
    A closed stream is opened on the null device, so that no file of a run takes its number. Raises OutputFailed if
    standard output was closed.
    """
    closed = [number for number in range(_STREAMS) if _is_closed(number)]
    for _ in closed:
        os.open(os.devnull, os.O_RDWR)  # the lowest free number: each of the closed ones in turn
    sys.stderr = _text(_Errors(2, "w", closefd=False), sys.stderr)
    if sys.stdout is sys.__stdout__:
        sys.stdout = _text(_Output(1, "w", closefd=False), sys.stdout)
    if 1 in closed:
        raise OutputFailed(errno.EBADF, "it is closed")


def drop_output() -> None:
    """Discard what is still written to standard output."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


def _text(raw: io.FileIO, before: object) -> io.TextIOWrapper:
    is_line = raw.isatty() or raw.fileno() != 1
    encoding = getattr(before, "encoding", None) or "utf-8"
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=encoding, errors="backslashreplace", line_buffering=is_line
    )


def _is_closed(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return True
    return False
