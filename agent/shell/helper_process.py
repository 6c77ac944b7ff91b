"""Parse texts in a separate process, so that a crash or an endless loop in C code affects only one text."""

from __future__ import annotations

import atexit
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

from ..host.own_programs import module_words

_ANSWER_SECONDS = 15.0
"""Seconds to wait for an answer: far more than the processor time of the helper, for an overloaded machine."""
_LARGEST = 64 * 2**20
"""Maximum bytes of an answer; a larger one is invalid."""


class ParseFailed(Exception):
    """The line could not be parsed; the message says why."""


class HelperProcess:
    """Sends texts to a separate process that runs a module of rundry, and returns its answers. See `serve_helper`.

    The process starts with the first text, is restarted after a crash, and ends with this process.
    """

    def __init__(self, module: str) -> None:
        """`module`: the module that calls `serve_helper` when it runs as a program."""
        self._module = module
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.end)

    def ask(self, text: str, seconds: float = _ANSWER_SECONDS) -> bytes:
        """Send a text and return the answer. Raises ParseFailed, also if it takes longer than this."""
        data = encoded(text)
        with self._lock:
            for is_last in (self._process is None, True):  # the process may have ended since the last text
                try:
                    return self._exchange(data, seconds)
                except (OSError, EOFError, subprocess.SubprocessError) as error:
                    if self.end() == -signal.SIGPROF:
                        raise ParseFailed("bash's grammar takes too long") from None
                    if is_last or isinstance(error, TimeoutError):
                        raise ParseFailed(f"the line cannot be parsed: {error}") from None
        raise AssertionError("the last attempt answers or raises")

    def reset(self) -> None:
        """End the process after an invalid answer. The next text starts a new one."""
        with self._lock:
            self.end()

    def end(self) -> int | None:
        """End the process, and return its exit status."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.kill()
        process.communicate()
        return process.returncode

    def _exchange(self, data: bytes, seconds: float) -> bytes:
        process = self._process
        if process is None or process.poll() is not None:
            self.end()
            process = self._process = _start(self._module)
        assert process.stdin is not None and process.stdout is not None
        until = time.monotonic() + seconds
        _write_all(process.stdin.fileno(), len(data).to_bytes(4, "big") + data, until)
        size = int.from_bytes(_read_exactly(process.stdout.fileno(), 4, until), "big")
        if size > _LARGEST:
            raise EOFError("the grammar gave an invalid answer")
        return _read_exactly(process.stdout.fileno(), size, until)


def _start(module: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        module_words(module),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if name in os.environ},
        cwd="/",
        process_group=0,  # ctrl+c must not reach it; in its own session, it would look like an orphan of a command
        bufsize=0,
    )
    assert process.stdin is not None
    os.set_blocking(process.stdin.fileno(), False)
    return process


def encoded(text: str) -> bytes:
    """Encode a text for the helper process."""
    return text.encode("utf-8", "surrogatepass")


def _write_all(target: int, data: bytes, until: float) -> None:
    """Write all data. Raises TimeoutError at the time `until`, EOFError if the process ended."""
    rest = memoryview(data)
    while rest:
        if not select.select([], [target], [], max(0.0, until - time.monotonic()))[1]:
            raise TimeoutError("the grammar does not answer")
        try:
            rest = rest[os.write(target, rest) :]
        except BrokenPipeError:
            raise EOFError("the grammar crashed on this line") from None


def _read_exactly(source: int, size: int, until: float) -> bytes:
    """Read exactly `size` bytes. Raises TimeoutError at the time `until`, EOFError if the process ended."""
    found = bytearray()
    while len(found) < size:
        if not select.select([source], [], [], max(0.0, until - time.monotonic()))[0]:
            raise TimeoutError("the grammar does not answer")
        piece = os.read(source, size - len(found))
        if not piece:
            raise EOFError("the grammar crashed on this line")
        found += piece
    return bytes(found)


def serve_helper(answer: Callable[[str], bytes], *, seconds: float) -> None:
    """Run the helper process: answer each text on standard input until the input ends.

    Requests and answers are prefixed with their length. `seconds`: limit of processor time for one text.
    """
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while head := requests.read(4):
        asked = requests.read(int.from_bytes(head, "big"))
        signal.setitimer(signal.ITIMER_PROF, seconds)  # its signal ends the process, even inside C code
        reply = answer(asked.decode("utf-8", "surrogatepass"))
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(len(reply).to_bytes(4, "big") + reply)
        answers.flush()
