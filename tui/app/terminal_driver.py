"""Adapt textual's driver to terminals: Enter with Shift or Alt, joined characters, waiting for keys at no cost."""

from __future__ import annotations

import os
import selectors
from codecs import getincrementaldecoder
from enum import Enum
from threading import Event
from typing import TYPE_CHECKING, cast

from textual import constants, events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import XTermParser

from ..text.emoji_clusters import at_known_width

if TYPE_CHECKING:
    from textual.driver import Driver
    from textual.drivers.linux_driver import LinuxDriver
    from textual.message import Message


_READ_BYTES = 4096
_TICK = 0.1
"""Seconds between two looks while the parser may wait for the rest of a sequence that begins with Escape."""
_TICKS = 2 + int(2 * constants.ESCAPE_DELAY / _TICK)
"""Number of looks after the last input; textual's parser gives up after ESCAPE_DELAY seconds, usually 0.1."""


class _More(Enum):
    ALT_ENTER = "alt+enter"


_OF_XTERM = {"shift+\r": "shift+enter", "\r": "alt+enter"}
"""What textual reads from xterm's `CSI 27 ; modifier ; 13 ~`, and the key that it is."""


def with_enter_keys(base: type[Driver]) -> type[Driver]:
    """Return a driver class that tells Shift+Enter and Alt+Enter from Enter in every terminal that does.

    Textual reads only the reports of the kitty protocol. In other terminals Alt+Enter would be a plain Enter, which
    sends the message.
    """
    cast("dict[str, tuple[Enum, ...]]", ANSI_SEQUENCES_KEYS)["\x1b\r"] = (_More.ALT_ENTER,)

    class EnterKeys(base):
        def process_message(self, message: Message) -> None:
            if isinstance(message, events.Key) and message.key in _OF_XTERM:
                message = events.Key(_OF_XTERM[message.key], None)
            super().process_message(message)

    return EnterKeys


def with_known_widths(base: type[Driver]) -> type[Driver]:
    """Return a driver class that writes joined characters with `at_known_width`, so that columns stay aligned."""

    class KnownWidths(base):
        def write(self, data: str) -> None:
            super().write(at_known_width(data))

    return KnownWidths


def with_quiet_input(base: type[LinuxDriver]) -> type[LinuxDriver]:
    """Return a driver class whose thread for keys waits until there are some.

    Textual's own looks ten times a second, which costs an idle screen more than all the rest of it.
    """

    class QuietInput(base):
        exit_event: Event

        def start_application_mode(self) -> None:
            if not isinstance(self.exit_event, _WakingEvent):
                self.exit_event = _WakingEvent()
            super().start_application_mode()

        def run_input_thread(self) -> None:
            parser, decode = XTermParser(self._debug), getincrementaldecoder("utf-8")().decode
            ended, ticks = cast("_WakingEvent", self.exit_event), 0
            with selectors.SelectSelector() as selector:  # others refuse a terminal on some systems
                selector.register(self.fileno, selectors.EVENT_READ)
                selector.register(ended.descriptor, selectors.EVENT_READ)
                while not ended.is_set():
                    for key, _ in selector.select(_TICK if ticks else None):
                        if key.fd != self.fileno:
                            continue
                        data, ticks = os.read(self.fileno, _READ_BYTES), _TICKS
                        if not data:
                            selector.unregister(self.fileno)  # the terminal is gone
                        elif text := decode(data):  # empty while a character is not whole; the parser would end
                            for event in parser.feed(text):
                                self.process_message(event)
                    ticks = max(0, ticks - 1)
                    for event in parser.tick():
                        self.process_message(event)

    return QuietInput


class _WakingEvent(Event):
    """An event whose descriptor is readable while it is set."""

    def __init__(self) -> None:
        super().__init__()
        self.descriptor, self._writing = os.pipe()

    def set(self) -> None:
        super().set()
        os.write(self._writing, b"\0")

    def clear(self) -> None:
        if self.is_set():
            os.read(self.descriptor, _READ_BYTES)
        super().clear()
