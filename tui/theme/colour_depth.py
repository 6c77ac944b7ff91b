"""How many colours the terminal has. Does not import textual."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Literal

Depth = Literal[0, 16, 256, 16777216]
"""Number of colours, or 0 if no colours are wanted or the terminal has none."""
TRUE_COLOR: Depth = 16777216
_TRUE_TERMS = re.compile(r"-direct|^(xterm-)?(kitty|ghostty)|^alacritty|^foot|^wezterm|^contour|^rio$")
_TRUE_PROGRAMS = frozenset({"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio"})
_SYSTEMS: Mapping[Depth, str] = {0: "standard", 16: "standard", 256: "256", TRUE_COLOR: "truecolor"}


def color_depth(env: Mapping[str, str], terminfo: Callable[[str], int | None] | None = None) -> Depth:
    """Return the number of colours that the terminal of this environment shows.

    NO_COLOR comes first, then COLORTERM, then what TERM and its terminfo entry say. `terminfo` returns the number of
    colours of an entry, or None if there is no entry.
    """
    term = env.get("TERM", "")
    if "NO_COLOR" in env or term in ("", "dumb", "unknown"):
        return 0
    is_true = env.get("COLORTERM", "").lower() in ("truecolor", "24bit") or env.get("TERM_PROGRAM") in _TRUE_PROGRAMS
    if is_true or _TRUE_TERMS.search(term):
        return TRUE_COLOR
    found = (terminfo or _terminfo_colors)(term)
    if found is not None and found >= TRUE_COLOR:
        return TRUE_COLOR
    if "256color" in term or (found or 0) >= 256:
        return 256
    return 0 if found is not None and found < 8 else 16


def prepare_textual(env: Mapping[str, str]) -> Depth:
    """Tell textual, which reads it when it is imported, how to write colours. Return the depth.

    TEXTUAL_COLOR_SYSTEM of the environment has precedence.
    """
    depth = color_depth(env)
    if not depth:
        os.environ.setdefault("NO_COLOR", "1")  # textual then writes no colours
    os.environ.setdefault("TEXTUAL_COLOR_SYSTEM", _SYSTEMS[depth])
    return depth


def _terminfo_colors(term: str) -> int | None:
    try:
        import curses
    except ImportError:  # a Python without curses
        return None
    try:
        curses.setupterm(term, 1)
    except curses.error:
        return None
    if curses.tigetflag("Tc") == 1 or curses.tigetflag("RGB") == 1:
        return TRUE_COLOR
    return curses.tigetnum("colors")
