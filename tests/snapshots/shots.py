"""What a screen shows as text: its rows at four sizes, and the theme token of each run of cells.

Text does not depend on how Textual draws SVG, and a difference is read like any other. Numbers that follow the clock
are written with zeros.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import fields
from itertools import groupby

from painted import strips
from rich.style import Style
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from rundry.tui.app.main_screen import MainScreen
from rundry.tui.pages.replay.replay_page import ReplayScreen
from rundry.tui.theme.theme import SHIPPED, Palette
from rundry.tui.transcript.transcript import Transcript

SIZES = ((60, 20), (80, 24), (120, 40), (200, 50))
STYLED = (120, 40)
"""The size at which styles are compared, in all themes."""
BASE = "dark"
_FIRST, _LAST = ("foreground", "accent"), ("primary", "text-muted", "surface", "panel")
_CLOCKS = re.compile(r"\d+:\d\d(:\d\d)?|\b\d+ ?(min|ms)\b")
_SECONDS = re.compile(r" *\b\d+(\.\d+)? ?s\b")
_NAMES = (
    (re.compile(r"20\d{6}-\d{6}-\w{5}"), "20000000-000000-aaaaa"),
    (re.compile(r"\br\d{19}\b"), "r" + 19 * "0"),
    (re.compile(r"20\d\d-\d\d-\d\d"), "2000-00-00"),
    (re.compile(r"\b\d\dk\b"), "00k"),  # tokens: the model reads how long a command took
    (re.compile(r"event 0/\d+"), "event 0/000"),  # a slow machine waits for a lock, or prints in more pieces
    (re.compile(r"/tmp/rundry-\w{1,8}"), "/tmp/rundry-00000000"),
)
"""What differs from run to run, and what stands for it."""
THUMB = "▐"
_STEADY = 4
"""Equal looks in a row after which a screen counts as drawn."""
_LOOK = 0.03
_MOST = 20.0

Cells = list[list[tuple[str, Style]]]


def look(app: App[object]) -> Cells:
    """Return the cells of the screen, without what depends on time.

    That is the style of the text cursor, which blinks, and the scroll bar of the transcript, which measures its entries
    one after the other.
    """
    for box in [*app.screen.query(TextArea), *app.screen.query(Input)]:
        box.cursor_blink = False
    cells = [
        [(sign, segment.style or Style.null()) for segment in strip for sign in segment.text] for strip in strips(app)
    ]
    for region in (each.region for each in app.screen.query(Transcript) if each.display):
        for row in cells[region.y : region.bottom]:
            if row[region.right - 1][0] == THUMB:
                row[region.right - 1] = (" ", Style.null())
    return cells


def rows(cells: Cells) -> list[str]:
    """Return the text of each row, clocks as zeros, without the blank end."""
    return [_still("".join(sign for sign, _ in row)).rstrip() for row in cells]


def _still(text: str) -> str:
    for pattern, instead in _NAMES:
        text = pattern.sub(lambda found, instead=instead: instead[: len(found[0])], text)
    text = _SECONDS.sub(lambda found: "0s".rjust(len(found[0])), text)
    return _CLOCKS.sub(lambda found: re.sub(r"[0-9]", "0", found[0]), text)


async def steady(pilot: Pilot[object]) -> Cells:
    """Wait until the screen no longer changes, and return it."""
    await pilot.pause()
    for screen in pilot.app.screen_stack:
        if isinstance(screen, MainScreen | ReplayScreen):
            screen.refresh_view()  # else its own clock does, within a second
    end, seen, same = time.monotonic() + _MOST, look(pilot.app), 0
    while same < _STEADY:
        assert time.monotonic() < end, "the screen does not come to rest:\n" + "\n".join(rows(seen))
        await pilot.pause(_LOOK)
        now = look(pilot.app)
        same = same + 1 if rows(now) == rows(seen) else 0
        seen = now
    return seen


class Tokens:
    """The names of a theme's tokens by colour."""

    def __init__(self, app: App[object]) -> None:
        variables, names = app.theme_variables, [field.name.replace("_", "-") for field in fields(Palette)]
        self._ground = app.screen.styles.background.rgb
        self._by_color: dict[str, list[str]] = {}
        for name in [*_FIRST, *names, *_LAST]:
            self._by_color.setdefault(variables.get(name, "").lower(), []).append(name)

    def of(self, style: Style) -> tuple[str, ...]:
        """Return the tokens that a text colour can come from; empty for a mixed colour."""
        triplet = style.color.triplet if style.color is not None else None
        return tuple(self._by_color.get(triplet.hex.lower(), ())) if triplet is not None else ()

    def is_plain(self, style: Style) -> bool:
        """Whether the cell has the ground of the screen: a theme may have other text on the ground of a selection."""
        ground = style.bgcolor.triplet if style.bgcolor is not None else None
        return ground is None or tuple(ground) == tuple(self._ground)


def styled(cells: Cells, tokens: Tokens) -> list[str]:
    """Return a line for each row with text: `3: 2-8 bright bold, 10-20 dim`."""
    found: list[str] = []
    for y, row in enumerate(cells):
        runs: list[tuple[int, int, str]] = []
        text = _still("".join(sign for sign, _ in row))
        for x, (_, style) in enumerate(row):
            words = _words(style, tokens)
            if text[x] == " " or not words:
                continue
            first, last, before = runs[-1] if runs else (0, -1, "")
            if before == words and not text[last + 1 : x].strip():
                runs[-1] = (first, x, words)
            else:
                runs.append((x, x, words))
        if runs:
            found.append(f"{y}: " + ", ".join(f"{first}-{last} {words}" for first, last, words in runs))
    return found


def _words(style: Style, tokens: Tokens) -> str:
    names = tokens.of(style)
    if not names or style.reverse:
        return ""
    return f"{names[0]} bold" if style.bold else names[0]


def unlike(base: Cells, base_tokens: Tokens, other: Cells, tokens: Tokens) -> list[str]:
    """Return where another theme gives a cell a different token than the base theme."""
    found: list[str] = []
    for y, (before, now) in enumerate(zip(base, other, strict=True)):
        for x, ((sign, style), (_, its)) in enumerate(zip(before, now, strict=True)):
            wanted, got = set(base_tokens.of(style)), set(tokens.of(its) if tokens.is_plain(its) else ())
            if sign != " " and not style.reverse and wanted and got and not wanted & got:
                found.append(f"row {y}, column {x}: {sign!r} is {min(got)}, in {BASE} {min(wanted)}")
    return found


def hidden(cells: Cells) -> list[str]:
    """Return where text has the colour of its ground."""
    return [
        f"row {y}, column {x}: {sign!r} has the colour of its ground"
        for y, row in enumerate(cells)
        for x, (sign, style) in enumerate(row)
        if sign != " " and style.color is not None and not style.color.is_default and style.color == style.bgcolor
    ]


async def shoot(pilot: Pilot[object]) -> tuple[str, list[str]]:
    """Return the snapshot of a screen, and what the other themes draw differently."""
    app, parts, wrong = pilot.app, [], []
    for size in SIZES:
        await pilot.resize_terminal(*size)
        cells = await steady(pilot)
        parts += [f"== {size[0]}x{size[1]}", *rows(cells)]
        if size == STYLED:
            tokens = Tokens(app)
            parts_of_style = styled(cells, tokens)
            for theme in (name for name in SHIPPED if name != BASE):
                app.theme = theme
                its = await steady(pilot)
                if rows(its) != rows(cells):
                    pairs = zip(rows(cells), rows(its), strict=True)
                    wrong += [f"{theme}: the text differs: {a!r} is {b!r}" for a, b in pairs if a != b]
                else:
                    wrong += [f"{theme}: {line}" for line in unlike(cells, tokens, its, Tokens(app))]
                    wrong += [f"{theme}: {line}" for line in hidden(its)]
            app.theme = BASE
    parts += [f"== styles at {STYLED[0]}x{STYLED[1]}", *parts_of_style]
    return "\n".join(_joined(parts)) + "\n", wrong


def _joined(lines: Iterable[str]) -> Iterable[str]:
    """Yield the lines, several blank ones as one that counts them."""
    for blank, group in groupby(lines, key=lambda line: not line):
        same = list(group)
        if blank and len(same) > 3:
            yield f"({len(same)} blank rows)"
        else:
            yield from same
