"""Adapt textual's driver to terminals: Enter with Shift or Alt, and joined characters."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, cast

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS

from ..text.emoji_clusters import at_known_width

if TYPE_CHECKING:
    from textual.driver import Driver
    from textual.message import Message


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
