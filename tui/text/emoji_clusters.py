"""Emoji and other characters that terminals join into one picture, and how to write them at a known width.

Terminals disagree about the width of a joined emoji, a flag, a keycap, a character with a variation selector, and of
letters with spacing vowels: tmux 3.3 draws `❤️` in one cell, newer terminals in two. `at_known_width` makes them agree
with what was computed for the layout (`rich.cells`, which textual uses as well).
Sources: UTS 51 (emoji), UAX 29 (grapheme clusters).
"""

from __future__ import annotations

import re

from rich.cells import split_graphemes

PICTURED = (
    "©®\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf"
    "\u2934\u2935\u2b05-\u2b07\u2b1b-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
"""Ranges that hold all characters that can be emoji without a keycap."""
FLAGS = "|".join(
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in name) + "\U000e007f"
    for name in ("gbeng", "gbsct", "gbwls")
)
"""The flags of England, Scotland and Wales: the only sequences with tag characters in use."""

_FLAG_LETTER = "\U0001f1e6-\U0001f1ff"
_SELECTOR = "\ufe0e\ufe0f\u200d\u20e3"
_TONE = "\U0001f3fb-\U0001f3ff"
_NEW = "\U0001f6d0-\U0001f6ff\U0001f7e0-\U0001f7ff\U0001f90c-\U0001faff"
"""Emoji of Unicode 9 and later, to which older terminals give one cell."""
_SPACING = "\u0900-\u0dff\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\ud7b0-\ud7ff"
"""Scripts with vowels and joined letters whose width differs between terminals."""
_SUSPECT = re.compile(f"[{_FLAG_LETTER}{_SELECTOR}{_TONE}{_NEW}{_SPACING}]")
_RUN = re.compile(f"[{PICTURED}{_SELECTOR}{_SPACING}\U000e0020-\U000e007f0-9#*]+")
_PAIR = re.compile(f"[{_FLAG_LETTER}]{{2}}")
_ALONE = re.compile(f"[{_NEW}]")


def at_known_width(data: str) -> str:
    """Return output for a terminal in which each joined character takes the cells that `rich.cells` counts.

    The character is written over blanks, then the cursor is placed behind these cells, wherever the terminal left it.
    """
    if data.isascii() or _SUSPECT.search(data) is None:
        return data
    return _RUN.sub(_settle, data)


def _settle(match: re.Match[str]) -> str:
    text = match.group()
    if _SUSPECT.search(text) is None:
        return text
    done: list[str] = []
    at = 0
    for start, end, cells in split_graphemes(text)[0]:
        if start < at:
            continue
        if (pair := _PAIR.match(text, start)) is not None:
            end, cells = pair.end(), 2
        cluster = text[start:end]
        done.append(_placed(cluster, cells) if len(cluster) > 1 or _ALONE.match(cluster) else cluster)
        at = end
    return "".join(done)


def _placed(cluster: str, cells: int) -> str:
    # save and restore the cursor (DECSC, DECRC): the position of the text on the screen is not known here
    return f"\x1b7{' ' * cells}\x1b8{cluster}\x1b8\x1b[{cells}C" if cells else cluster
