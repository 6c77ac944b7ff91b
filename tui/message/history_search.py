"""Search what was sent earlier while the words are typed. Does not import textual."""

from __future__ import annotations

from collections.abc import Sequence

from ..text.shorten_cells import cells_cut
from ..text.show_text import one_line
from .completion import MOST, Completion, Suggestion

_BEFORE = 12
"""Characters before the match that are shown of a long message."""


def search_history(sent: Sequence[str], wanted: str, width: int, title: str) -> Completion:
    """Return the newest messages that contain all words of `wanted`, newest first, in `width` cells.

    `sent`: the messages, oldest first.
    """
    words = wanted.lower().split()
    found = dict.fromkeys(text for text in reversed(sent) if all(word in text.lower() for word in words))
    rows = [Suggestion(_shown(text, words, width), "", text) for text in [*found][:MOST]]
    nothing = Suggestion("", "no earlier message has this" if sent else "nothing was sent from this folder", wanted)
    return Completion(0, rows or [nothing], title)


def _shown(text: str, words: Sequence[str], width: int) -> str:
    """Return the message in one line that shows the first match."""
    line = one_line(" ".join(text.split()))
    at = line.lower().find(words[0]) if words else 0
    cut = max(0, at - _BEFORE) if at + len(words[0] if words else "") > width else 0
    return cells_cut(f"…{line[cut:]}" if cut else line, width)
