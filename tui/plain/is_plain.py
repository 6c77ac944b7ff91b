"""Decide whether the session is shown as lines of words, and replace the first frame then. Imports little."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from ..text.first_frame import FirstFrame, FrameColors, Typed, asks_for_lines


def is_plain(flags: Mapping[str, object]) -> bool:
    """Return whether `--plain`, RUNDRY_PLAIN or a terminal without cursor addressing asks for lines of words."""
    return bool(flags.get("plain")) or asks_for_lines(os.environ, is_terminal=sys.stdin.isatty())


class NoFrame(FirstFrame):
    """Takes the place of the first frame: paints nothing and leaves the terminal as it is."""

    def __init__(self) -> None:
        super().__init__(FrameColors())

    def open(self) -> None:
        """Print that rundry starts, because that takes a second."""
        print("rundry is starting", flush=True)

    def hand_over(self) -> Typed:
        """Return nothing: what is typed stays in the terminal until it is read."""
        return self.typed

    def abandon(self) -> None:
        """Leave the terminal as it is."""
