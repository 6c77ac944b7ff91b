"""Draw the first frame by hand before anything else is imported (0.3 to 0.6 s), and keep the keys typed meanwhile.

Header and message box have the place that they will have on the real screen. Typed text is echoed and handed to it.
Imports only what Python has loaded when it starts, or what takes less than a millisecond.
"""

from __future__ import annotations

import codecs
import os
import select
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TextIO

ENTER_SCREEN, LEAVE_SCREEN = "\x1b[?1049h", "\x1b[?1049l"
_ESCAPE = 0x1B


class Typed:
    """Text that the person types before the app runs: Enter sends, Backspace deletes, ctrl+j inserts a line."""

    def __init__(self, sent: Sequence[str] = (), draft: str = "") -> None:
        self.sent = list(sent)
        self.draft = draft
        self.begun_with = ""
        """The first message, if the run began with it already."""
        self._sequence = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._pasting = False

    def feed(self, data: bytes) -> None:
        """Take in bytes of the terminal. Escape sequences (arrows, mouse) are skipped; a bracketed paste is text."""
        for character in self._decoder.decode(data):
            if self._sequence:
                self._escape(character)
            else:
                self._plain(character)

    @property
    def is_used(self) -> bool:
        """Return whether something was typed that was not taken yet."""
        return bool(self.sent or self.draft)

    def take_sent(self) -> list[str]:
        """Return the messages that were sent, and forget them."""
        taken, self.sent = self.sent, []
        return taken

    def take_draft(self) -> str:
        """Return the text that was typed and not sent, and forget it."""
        taken, self.draft = self.draft, ""
        return taken

    def _plain(self, character: str) -> None:
        match character:
            case "\x1b":
                self._sequence = character
            case "\r" if self._pasting:
                self.draft += "\n"
            case "\r":
                if self.draft.strip():
                    self.sent.append(self.draft)
                self.draft = ""
            case "\n":
                self.draft += "\n"
            case "\x7f" | "\x08":
                self.draft = self.draft[:-1]
            case "\x15":
                self.draft = ""
            case "\x17":
                self.draft = self.draft.rstrip().rpartition(" ")[0]
            case _ if character.isprintable() or character == "\t":
                self.draft += character
            case _:
                pass

    def _escape(self, character: str) -> None:
        self._sequence += character
        if len(self._sequence) == 2 and character in "[O":
            return
        if len(self._sequence) > 2 and not "@" <= character <= "~" and len(self._sequence) < 32:
            return
        if self._sequence == "\x1b[200~":
            self._pasting = True
        elif self._sequence == "\x1b[201~":
            self._pasting = False
        self._sequence = ""


class FrameColors:
    """Colours of the first frame as SGR parameters (`38;2;213;217;224`), or empty texts for the terminal's own."""

    def __init__(self, *, ground: str = "", bright: str = "", dim: str = "", accent: str = "") -> None:
        self.ground, self.bright, self.dim, self.accent = ground, bright, dim, accent


def default_colors() -> FrameColors:
    """Return the colours of the dark theme, which is the default; the config is not read yet."""
    if "NO_COLOR" in os.environ or os.environ.get("COLORTERM") not in ("truecolor", "24bit"):
        return FrameColors()
    return FrameColors(
        ground="48;2;21;23;27;38;2;213;217;224",
        bright="38;2;242;244;248",
        dim="38;2;141;149;161",
        accent="38;2;124;183;255",
    )


def draw(title: str, right: str, typed: Typed, size: tuple[int, int], colors: FrameColors) -> str:
    """Return the frame for a size (columns, rows): a header, the rule, the box, the keys, and the cursor.

    `title` and `right` must not contain control characters.
    """
    columns, rows = size
    room = max(0, columns - 2 - len("rundry  ") - len(right) - 2)
    title = title if len(title) <= room else title[: max(0, room - 1)] + "…"
    gap = " " * max(1, columns - 2 - len("rundry  ") - len(title) - len(right))
    head = f" {_paint('rundry', colors, colors.bright, bold=True)}  {title}{gap}{_paint(right, colors, colors.dim)}"
    lines = (typed.draft or "").split("\n")
    last = lines[-1][-(columns - 6) :] if columns > 6 else ""
    waiting = "".join(
        f"\x1b[{rows - 3 - n};1H {_paint('› ' + sent[: columns - 5], colors, colors.dim)}"
        for n, sent in enumerate(reversed([message.replace("\n", " ") for message in typed.sent[-5:]]))
    )
    hint = "" if typed.draft else _paint("what should be done?", colors, colors.dim)
    return "".join(
        (
            "\x1b[?25l",
            f"\x1b[{colors.ground}m" if colors.ground else "\x1b[m",
            "\x1b[2J\x1b[1;1H",
            head,
            waiting,
            f"\x1b[{rows - 2};1H{_paint('─' * columns, colors, colors.dim)}",
            f"\x1b[{rows - 1};1H {_paint('›', colors, colors.accent, bold=True)} {_printable(last)}{hint}",
            f"\x1b[{rows};1H {_paint('starting', colors, colors.dim)}",
            f"\x1b[{rows - 1};{4 + len(last)}H\x1b[?25h",
        )
    )


class FirstFrame:
    """Owns the terminal from the first output until the app takes it over."""

    def __init__(self, colors: FrameColors) -> None:
        self.typed = Typed()
        self._colors = colors
        self._title = self._right = ""
        self._stop_read, self._stop_write = os.pipe()
        self._thread = threading.Thread(target=self._listen, name="first-frame", daemon=True)
        self._before: list[Any] | None = None
        self._when_typed: Callable[[], None] | None = None
        self._lock = threading.Lock()
        """Held while the frame is drawn, and while it changes what a key does."""

    def open(self) -> None:
        """Draw the frame, and read keys."""
        import termios

        fd = sys.stdin.fileno()
        self._before = termios.tcgetattr(fd)
        mode = termios.tcgetattr(fd)
        # ISIG stays on: ctrl+c ends a start like any other program; ICRNL is off: Enter and ctrl+j must differ
        mode[0] &= ~(termios.ICRNL | termios.IXON)
        mode[3] &= ~(termios.ICANON | termios.ECHO)
        termios.tcsetattr(fd, termios.TCSANOW, mode)
        write_to_terminal(ENTER_SCREEN + self._drawn())
        self._thread.start()

    def name(self, title: str, right: str) -> None:
        """Show the task and the model in the header. They must not contain control characters."""
        with self._lock:
            is_shown = self._before is not None and (title, right) != (self._title, self._right)
            self._title, self._right = title, right
            if is_shown:
                write_to_terminal(self._drawn())

    def when_typed(self, action: Callable[[], None]) -> None:
        """Call the action once, with the first text that is typed, or immediately if there is some.

        Another thread may call it. What it raises ends that thread, so it must handle its own errors.
        """
        with self._lock:
            if not self.typed.is_used:
                self._when_typed = action
                return
        action()

    def hand_over(self) -> Typed:
        """Stop reading. The mode of the terminal is kept, so that keys for the app are neither echoed nor lost."""
        if self._thread.is_alive():
            os.write(self._stop_write, b"x")
            self._thread.join()
        return self.typed

    def abandon(self) -> None:
        """Restore the previous screen, because no app follows."""
        self.hand_over()
        write_to_terminal("\x1b[m" + LEAVE_SCREEN + "\x1b[?25h")
        self.close()

    def close(self) -> None:
        """Restore the mode of the terminal after the end of the app."""
        import termios

        if self._before is not None:
            from contextlib import suppress  # 1 ms, when there is time

            with suppress(termios.error):  # the terminal may be gone
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, self._before)
            self._before = None

    def _drawn(self) -> str:
        return draw(self._title, self._right, self.typed, _size(), self._colors)

    def _listen(self) -> None:
        fd = sys.stdin.fileno()
        while True:
            ready, _, _ = select.select([fd, self._stop_read], [], [])
            if self._stop_read in ready:
                return
            data = os.read(fd, 4096)
            if not data:
                return
            action = None
            with self._lock:
                self.typed.feed(data)
                write_to_terminal(self._drawn())
                if self.typed.is_used:
                    action, self._when_typed = self._when_typed, None
            if action is not None:
                action()


_early: list[FirstFrame] = []
"""The frame that was opened before the command line was parsed, until the screen takes it; at most one."""
_NO_SCREEN = {"--plain", "--headless", "--json", "--print", "--help", "--version"}
"""Options that show that no screen follows."""
_NO_SCREEN_LETTERS = {"p", "h", "V"}


def open_early(words: Sequence[str]) -> None:
    """Open the frame of a session whose command line is not parsed yet, if it surely opens a screen.

    `words`: the arguments. The name of a command, a file or a recipe leaves it to the command: some ask or print.
    """
    if _opens_screen(words):
        frame = FirstFrame(default_colors())
        _early.append(frame)  # before it is open: Ctrl+C may come at any time
        frame.open()


def take_early() -> FirstFrame | None:
    """Return the frame that is open already, which the caller then owns."""
    return _early.pop() if _early else None


def close_early() -> None:
    """Restore the previous screen if it turned out that no screen follows: an option is wrong, for example."""
    if frame := take_early():
        frame.abandon()


def _opens_screen(words: Sequence[str]) -> bool:
    if "_RUNDRY_COMPLETE" in os.environ or asks_for_lines(os.environ, is_terminal=True):
        return False
    if not (_is_terminal(sys.__stdin__) and _is_terminal(sys.__stderr__)):
        return False
    if words and not words[0].startswith("-") and " " not in words[0]:
        return False
    return not any(_shows_no_screen(word) for word in words)


def _shows_no_screen(word: str) -> bool:
    if word.startswith("--"):
        return word in _NO_SCREEN
    is_letters = word.startswith("-") and len(word) > 1
    return word == "-" or word.endswith(".toml") or (is_letters and not _NO_SCREEN_LETTERS.isdisjoint(word))


def asks_for_lines(env: Mapping[str, str], *, is_terminal: bool) -> bool:
    """Return whether RUNDRY_PLAIN, or a terminal without cursor addressing, asks for lines of words."""
    if env.get("RUNDRY_PLAIN", "") not in ("", "0"):
        return True
    return is_terminal and env.get("TERM", "") in ("dumb", "")


def write_to_terminal(text: str) -> None:
    """Write immediately to the stream to which the app draws. A closed terminal is ignored."""
    terminal = sys.__stderr__  # the stream to which textual draws as well
    if terminal is not None and text:
        try:
            terminal.write(text)
            terminal.flush()
        except OSError:
            return


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


def _paint(text: str, colors: FrameColors, color: str, *, bold: bool = False) -> str:
    codes = ";".join(part for part in ("1" if bold else "", color) if part)
    return f"\x1b[{codes}m{text}\x1b[0m" + (f"\x1b[{colors.ground}m" if colors.ground else "") if codes else text


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def _size() -> tuple[int, int]:
    try:
        size = os.get_terminal_size(sys.stderr.fileno())
    except OSError:
        return 80, 24
    return size.columns or 80, size.lines or 24
