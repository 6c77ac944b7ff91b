"""A program in a pseudo-terminal, its screen read back.

with Terminal([str(RUNDRY)], env=home.env, cwd=project) as terminal:
    terminal.wait_for("streaming")
    terminal.press("esc")
    assert terminal.wait_for_exit() == 0
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import termios
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
from pyte.screens import Char

from .views.emulator import Emulator

Want = str | re.Pattern[str] | Callable[[list[str]], bool]

KEYS = {
    "enter": "\r", "esc": "\x1b", "tab": "\t", "shift+tab": "\x1b[Z", "space": " ", "backspace": "\x7f",
    "up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[H", "end": "\x1b[F",
    "pageup": "\x1b[5~", "pagedown": "\x1b[6~", "delete": "\x1b[3~",
    "f1": "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR", "f4": "\x1bOS", "f5": "\x1b[15~", "f6": "\x1b[17~",
    "f9": "\x1b[20~",
}  # fmt: skip

Match = re.Match[bytes]
_ANSWERS: list[tuple[re.Pattern[bytes], Callable[[Match, Terminal], bytes]]] = [
    (re.compile(rb"\x1b\[\??6n"), lambda m, t: b"\x1b[1;1R"),
    (re.compile(rb"\x1b\[5n"), lambda m, t: b"\x1b[0n"),
    (re.compile(rb"\x1b\[0?c"), lambda m, t: b"\x1b[?62;22c"),
    (re.compile(rb"\x1b\[>0?c"), lambda m, t: b"\x1b[>1;10;0c"),
    (re.compile(rb"\x1b\[>0?q"), lambda m, t: b"\x1bP>|fakes 1\x1b\\"),
    (re.compile(rb"\x1b\[\?(\d+)\$p"), lambda m, t: b"\x1b[?%s;%d$y" % (m[1], 2 if m[1] == b"2026" else 0)),
    (re.compile(rb"\x1b\]10;\?(?:\x07|\x1b\\)"), lambda m, t: b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\"),
    (re.compile(rb"\x1b\]11;\?(?:\x07|\x1b\\)"), lambda m, t: b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
    (re.compile(rb"\x1b\[14t"), lambda m, t: b"\x1b[4;%d;%dt" % (t.rows * 16, t.columns * 8)),
    (re.compile(rb"\x1b\[16t"), lambda m, t: b"\x1b[6;16;8t"),
    (re.compile(rb"\x1b\[18t"), lambda m, t: b"\x1b[8;%d;%dt" % (t.rows, t.columns)),
]
_UNFINISHED = re.compile(rb"\x1b[^a-zA-Z\x07\\]{0,30}$")


class Terminal:
    def __init__(
        self,
        argv: Sequence[str],
        *,
        rows: int = 40,
        columns: int = 120,
        env: Mapping[str, str] | None = None,
        cwd: Path | str | None = None,
        truecolor: bool = True,
    ) -> None:
        """`env` is the whole environment, but for what names the terminal. Not `truecolor`: it has 256 colours."""
        self.rows, self.columns = rows, columns
        self.output: list[tuple[float, bytes]] = []
        """Everything that the program wrote: monotonic seconds, bytes."""
        self.exit_code: int | None = None
        self._emulator, self._drawn = Emulator(rows, columns), 0
        self._drawing = threading.RLock()
        self._news = threading.Condition()
        self._closed = False
        base = dict(os.environ if env is None else env)
        environment = {**base, "TERM": "xterm-256color", "COLORTERM": "truecolor" if truecolor else ""}
        self.started = time.monotonic()
        self.pid, self._master = self._fork(list(argv), environment, cwd)
        self._process = psutil.Process(self.pid)
        self._wake_read, self._wake_write = os.pipe()
        self._reader = threading.Thread(target=self._read, name="terminal", daemon=True)
        self._reader.start()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def send(self, text: str) -> float:
        """These characters, as typed. The moment, monotonic seconds."""
        return self.send_bytes(text.encode())

    def send_bytes(self, data: bytes) -> float:
        """As `send`, for a part of a character."""
        now = time.monotonic()
        os.write(self._master, data)
        return now

    def press(self, *keys: str) -> None:
        """By name (`enter`, `ctrl+s`, `f2`), or a character."""
        for key in keys:
            if key.startswith("ctrl+"):
                self.send(chr(ord(key[5:].upper()) & 0x1F))
            else:
                self.send(KEYS.get(key, key))

    def paste(self, text: str) -> None:
        self.send(f"\x1b[200~{text}\x1b[201~")

    def click(self, row: int, column: int) -> None:
        """The left button, at a cell counted from 0."""
        self.send(f"\x1b[<0;{column + 1};{row + 1}M\x1b[<0;{column + 1};{row + 1}m")

    def resize(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        with self._drawing:
            self._draw()
            self._emulator.resize(rows, columns)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def screen(self) -> list[str]:
        with self._drawing:
            self._draw()
            return self._emulator.lines()

    def text(self) -> str:
        return "\n".join(self.screen())

    def overwrite(self, data: bytes) -> None:
        """Write to the screen as another program would, which the program does not notice."""
        with self._drawing:
            self._draw()
            self._emulator.feed(data)

    def cell(self, row: int, column: int) -> Char:
        with self._drawing:
            self._draw()
            return self._emulator.cell(row, column)

    def find(self, text: str) -> tuple[int, int]:
        """Row and column of its first sign; LookupError where it is not on the screen."""
        for y, line in enumerate(self.screen()):
            if text in line:
                return y, line.index(text)
        raise LookupError(f"{text!r} is not on the screen:\n{self.text()}")

    def colours(self, text: str) -> tuple[str, str]:
        """Foreground and background of the first sign of a text on the screen."""
        cell = self.cell(*self.find(text))
        return cell.fg, cell.bg

    def wait_for(self, want: Want, timeout: float = 60.0) -> str:
        """The screen, once it shows that: a text, a regular expression (in one line), or a fact about its lines."""
        return self._wait(lambda lines: _shows(lines, want), timeout, f"never showed {want!r}")

    def wait_gone(self, want: Want, timeout: float = 60.0) -> str:
        return self._wait(lambda lines: not _shows(lines, want), timeout, f"still showed {want!r}")

    def wait_for_bytes(self, want: bytes, timeout: float = 60.0) -> None:
        """Until the program wrote these, escape sequences apart. Draws nothing: it takes nothing from a measurement."""
        end, seen, tail = time.monotonic() + timeout, 0, b""
        while want not in tail:
            fresh = b"".join(data for _, data in self.output[seen:])
            seen = len(self.output)
            tail = tail[-200:] + re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", fresh)
            if time.monotonic() > end:
                raise TimeoutError(f"never wrote {want!r} in {timeout} s; the screen:\n{self.text()}")
            with self._news:
                if want not in tail and seen == len(self.output):
                    self._news.wait(0.5)

    def wait_for_exit(self, timeout: float = 60.0) -> int:
        """Its exit code; minus the signal where one ended it."""
        self._reader.join(timeout)
        if self._reader.is_alive():
            raise TimeoutError(f"still running after {timeout} s; the screen:\n{self.text()}")
        return self._reap()

    def raw(self) -> bytes:
        """All bytes that the program wrote."""
        return b"".join(data for _, data in list(self.output))

    def has_echo_off(self) -> bool:
        """The program took the keyboard over; before that the kernel echoes what is typed."""
        return not termios.tcgetattr(self._master)[3] & termios.ECHO

    def tree(self) -> list[psutil.Process]:
        """The program and all that it started and did not leave behind."""
        with suppress(psutil.NoSuchProcess):
            return [self._process, *self._process.children(recursive=True)]
        return []

    def hang_up(self) -> None:
        """The terminal goes away, as when its window is closed."""
        self._stop_reading()
        self._closed = True
        os.close(self._master)

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def close(self) -> None:
        """Ends the program and everything below it."""
        tree = self.tree()
        for process in reversed(tree):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        if not self._closed:
            self.hang_up()
        if self.exit_code is None:
            self._reap()
        for end in (self._wake_read, self._wake_write):
            with suppress(OSError):
                os.close(end)

    def _fork(self, argv: list[str], environment: dict[str, str], cwd: Path | str | None) -> tuple[int, int]:
        size = struct.pack("HHHH", self.rows, self.columns, 0, 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns of fork with threads; this one only execs
            pid, master = pty.fork()
        if pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, size)
                if cwd:
                    os.chdir(cwd)
                os.execvpe(argv[0], argv, environment)
            finally:
                os._exit(127)
        os.set_inheritable(master, False)
        return pid, master

    def _read(self) -> None:
        tail = b""
        while True:
            ready, _, _ = select.select([self._master, self._wake_read], [], [])
            if self._wake_read in ready:
                break
            try:
                data = os.read(self._master, 65536)
            except OSError:
                data = b""
            if not data:
                break
            self.output.append((time.monotonic(), data))
            with self._news:
                self._news.notify_all()
            tail = self._answer(tail + data)
        with self._news:
            self._news.notify_all()

    def _answer(self, data: bytes) -> bytes:
        """Answers what a real terminal would, and gives what may be the beginning of a question."""
        if b"\x1b" in data:
            for question, answer in _ANSWERS:
                for match in question.finditer(data):
                    with suppress(OSError):
                        os.write(self._master, answer(match, self))
        unfinished = _UNFINISHED.search(data)
        return unfinished[0] if unfinished else b""

    def _stop_reading(self) -> None:
        os.write(self._wake_write, b"x")
        self._reader.join()

    def _draw(self) -> None:
        while self._drawn < len(self.output):
            self._emulator.feed(self.output[self._drawn][1])
            self._drawn += 1

    def _wait(self, fact: Callable[[list[str]], bool], timeout: float, complaint: str) -> str:
        end = time.monotonic() + timeout
        while True:
            is_alive = self._reader.is_alive()
            lines = self.screen()
            if fact(lines):
                return "\n".join(lines)
            left = end - time.monotonic()
            if left <= 0 or not is_alive:
                why = f"in {timeout} s" if left <= 0 else "before the program ended"
                raise TimeoutError(f"{complaint} {why}; the screen:\n" + "\n".join(lines))
            with self._news:
                if self._drawn == len(self.output):
                    self._news.wait(min(left, 1.0))

    def _reap(self) -> int:
        if self.exit_code is None:
            _, status = os.waitpid(self.pid, 0)
            self.exit_code = os.waitstatus_to_exitcode(status)
        return self.exit_code


def _shows(lines: list[str], want: Want) -> bool:
    if isinstance(want, str):
        return any(want in line for line in lines)
    if isinstance(want, re.Pattern):
        return any(want.search(line) for line in lines)
    return want(lines)
