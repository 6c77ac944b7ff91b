"""Parse command lines in a separate process: if the grammar crashes or stalls, only that line gets a doubt."""

from __future__ import annotations

import atexit
import os
import select
import signal
import subprocess
import sys
import threading
import time

import msgspec

from . import grammar
from .grammar import Answer, Line, Part, Word, digest

_PATIENCE = 15.0
"""Seconds, far more than the process allows itself: a safety net for an overloaded machine."""
_LARGEST = 64 * 2**20
"""Bytes of an answer; a larger one is invalid."""

__all__ = ["Apart", "Line", "Part", "Unreadable", "Word", "read_line"]


def read_line(command: str) -> Line:
    """Parse a line. Never raises: a line that the helper process cannot parse is `unread`, and asks in every mode.

    Takes about 0.1 ms, 0.1 s the first time, and seconds in the worst case.
    """
    try:
        answer = msgspec.msgpack.decode(_READER.ask(command), type=Answer)
        if answer.of != digest(encoded(command)):
            _READER.drop()
            raise Unreadable("bash's grammar answered a different line")
    except msgspec.DecodeError:
        _READER.drop()
        return _unread("bash's grammar gave an invalid answer")
    except Unreadable as why:
        return _unread(str(why))
    return answer.line


def _unread(why: str) -> Line:
    return Line(doubts=[why], unread=why)


class Unreadable(Exception):
    """The grammar failed on the line; the text says how."""


class Apart:
    """Runs one of our programs in a separate process, which answers texts in turn: `grammar.serve` is its other side.

    The process starts at the first text, restarts after a loss, and ends with this process.
    """

    def __init__(self, program: str) -> None:
        """`program`: the file, which imports nothing of this project."""
        self._program = program
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.end)

    def ask(self, text: str) -> bytes:
        """Return the answer to a text. Raises Unreadable."""
        data = encoded(text)
        with self._lock:
            for is_last in (self._process is None, True):  # the process may have died long ago
                try:
                    return self._exchange(data)
                except (OSError, EOFError, subprocess.SubprocessError) as error:
                    if self.end() == -signal.SIGPROF:
                        raise Unreadable("bash's grammar takes too long") from None
                    if is_last or isinstance(error, TimeoutError):
                        raise Unreadable(f"the line cannot be parsed: {error}") from None
        raise AssertionError("the last attempt answers or raises")

    def drop(self) -> None:
        """End the process, whose answers cannot be trusted. The next text gets a new one."""
        with self._lock:
            self.end()

    def end(self) -> int | None:
        """End the process and wait for it; return its exit status."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.kill()
        process.communicate()
        return process.returncode

    def _exchange(self, data: bytes) -> bytes:
        process = self._process
        if process is None or process.poll() is not None:
            self.end()
            process = self._process = _start(self._program)
        assert process.stdin is not None and process.stdout is not None
        until = time.monotonic() + _PATIENCE
        _give(process.stdin.fileno(), len(data).to_bytes(4, "big") + data, until)
        size = int.from_bytes(_take(process.stdout.fileno(), 4, until), "big")
        if size > _LARGEST:
            raise EOFError("the grammar gave an invalid answer")
        return _take(process.stdout.fileno(), size, until)


def _start(program: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-I", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if name in os.environ},
        cwd="/",
        process_group=0,  # ctrl+c must not reach it; with its own session it would look like a command's orphan
        bufsize=0,
    )
    assert process.stdin is not None
    os.set_blocking(process.stdin.fileno(), False)
    return process


def encoded(text: str) -> bytes:
    """Encode a text for the helper process."""
    return text.encode("utf-8", "surrogatepass")


def _give(target: int, data: bytes, until: float) -> None:
    """Write all data. Raises OSError when the time is over, EOFError when the process is gone."""
    rest = memoryview(data)
    while rest:
        if not select.select([], [target], [], max(0.0, until - time.monotonic()))[1]:
            raise TimeoutError("the grammar does not answer")
        try:
            rest = rest[os.write(target, rest) :]
        except BrokenPipeError:
            raise EOFError("the grammar crashed on this line") from None


def _take(source: int, size: int, until: float) -> bytes:
    """Read exactly `size` bytes. Raises OSError when the time is over, EOFError when the process is gone."""
    found = bytearray()
    while len(found) < size:
        if not select.select([source], [], [], max(0.0, until - time.monotonic()))[0]:
            raise TimeoutError("the grammar does not answer")
        piece = os.read(source, size - len(found))
        if not piece:
            raise EOFError("the grammar crashed on this line")
        found += piece
    return bytes(found)


_READER = Apart(grammar.__file__)
