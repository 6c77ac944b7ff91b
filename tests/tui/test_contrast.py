"""Contrast by WCAG 2.2: 1.4.3 (text, 4.5:1) and 1.4.11 (graphics, 3:1), of the themes and of what screens draw."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from fakes.played_events import proposal, started
from fakes.screens import PlayedStart, Stage
from fakes.views.gate_stage import GateStage
from painted import shows, strips, until
from rich.color import Color, ColorSystem
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from textual.app import App
from textual.pilot import Pilot

from rundry.agent import CheckFinished, StepStarted, TextArrived
from rundry.tui.theme.theme import SHIPPED, Palette, load_theme, shipped_file

TEXT, GRAPHICS = 4.5, 3.0
DRAWN = {"rule", "meter-track", "thumb", "cursor"}
"""Tokens that lines and bars are drawn with, never text."""
GROUNDS = ("background", "surface", "panel")
DIFF = ("diff-added", "diff-removed", "diff-added-word", "diff-removed-word")
XTERM = TerminalTheme(
    (0, 0, 0),
    (229, 229, 229),
    [(0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229)],
    [
        (127, 127, 127),
        (255, 0, 0),
        (0, 255, 0),
        (255, 255, 0),
        (92, 92, 255),
        (255, 0, 255),
        (0, 255, 255),
        (255, 255, 255),
    ],
)
"""The colours of xterm, for the theme that uses those of the terminal."""
SIGNS = set("─━│╸▌▐▔▁▂▃▄▅▆▇█┤┼⋯┃╭╮╰╯·")


def _light(color: tuple[int, int, int]) -> float:
    parts = [part / 255 for part in color]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    bright, dark = sorted((_light(one), _light(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def colours(style: Style, *, few: bool = False) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """What a terminal shows: characters and ground of a style."""
    front, ground = style.color or Color.default(), style.bgcolor or Color.default()
    if few:
        front, ground = (c if c.is_default else c.downgrade(ColorSystem.EIGHT_BIT) for c in (front, ground))
    on = ground.get_truecolor(XTERM, foreground=False)
    text = front.get_truecolor(XTERM, foreground=True)
    if style.dim:  # as xterm draws it: two thirds of the colour
        text = type(text)(*(round(b + (f - b) * 2 / 3) for f, b in zip(text, on, strict=True)))
    return (tuple(on), tuple(text)) if style.reverse else (tuple(text), tuple(on))  # type: ignore[return-value]


def pairs(name: str, depth: int) -> Iterator[tuple[str, str, Style]]:
    """Each token on each ground that it is drawn on."""
    theme = load_theme(shipped_file(name), depth=depth)
    tokens = {
        field.name.replace("_", "-"): Style.parse(theme.variables["style-of-" + field.name.replace("_", "-")])
        for field in fields(Palette)
    }

    def styled(value: str | None, *, behind: bool) -> Style:
        value = (value or "default").removeprefix("ansi_")
        return Style.parse(f"on {value}" if behind else value)

    text = styled(theme.foreground, behind=False)
    for ground in GROUNDS:
        base = text + styled(getattr(theme, ground), behind=True)
        for token, style in tokens.items():
            yield token, ground, base + style
        for key in ("primary", "secondary", "accent", "success", "warning", "error", "foreground"):
            yield key, ground, base + styled(getattr(theme, key), behind=False)
    base = text + styled(theme.background, behind=True)
    for kind in DIFF:
        for token, style in tokens.items():
            is_gutter = token == "dim" and not kind.endswith("word")
            if token.startswith("code") or is_gutter or kind.startswith(token.removesuffix("-sign")):
                yield token, kind, base + style + tokens[kind]
    for over in ("match", "match-current", "selection"):
        for token, style in tokens.items():
            if token not in DRAWN:
                yield token, over, base + style + tokens[over]


@pytest.mark.parametrize("depth", [1 << 24, 256])
@pytest.mark.parametrize("name", SHIPPED)
def test_every_token_on_every_ground_has_enough_contrast(name: str, depth: int) -> None:
    low = {
        (token, ground): round(found, 2)
        for token, ground, style in pairs(name, depth)
        if (found := contrast(*colours(style, few=depth == 256))) < (GRAPHICS if token in DRAWN else TEXT)
    }
    assert low == {}


@pytest.mark.parametrize("name", SHIPPED)
def test_what_differs_by_colour_also_differs_by_a_character_or_a_style(name: str) -> None:
    theme = load_theme(shipped_file(name))
    for one, other in (("meter-ok", "meter-track"), ("selection", "match")):
        styles = [theme.variables[f"style-of-{token}"] for token in (one, other)]
        assert styles[0] != styles[1]


def low_on_screen(app: App[None]) -> dict[str, float]:
    """Each text that has too little contrast on the screen, or in the dialog that is above it."""
    low: dict[str, float] = {}
    region = app.screen.children[0].region if app.screen.is_modal else app.screen.region
    for strip in strips(app)[region.y : region.bottom]:
        for text, style, _ in strip.crop(region.x, region.right):
            if not text.strip() or style is None:
                continue
            least = GRAPHICS if set(text.strip()) <= SIGNS else TEXT
            found = contrast(*colours(style))
            if found < least:
                low[f"{text.strip()}  {style}"] = round(found, 2)
    return low


async def assert_readable(stage: Stage, pilot: Pilot[None], theme: str) -> None:
    stage.screen.action_do("theme", theme)
    await until(pilot, lambda: stage.app.theme == theme)
    await pilot.pause()
    assert low_on_screen(stage.app) == {}, theme  # type: ignore[arg-type]


ANSWER = (
    "# Heading\n\nSome **bold** text, `code`, a [link](http://example.org).\n\n> a quote\n\n- item\n\n"
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\ndef f(x: int) -> str:\n    return 'x'  # comment\n```\n"
)


@pytest.mark.parametrize("size", [(60, 20), (120, 40)])
async def test_a_transcript_with_markdown_and_a_check_is_readable_in_every_theme(size: tuple[int, int]) -> None:
    stage = Stage()
    stage.play(
        started(),
        StepStarted(number=1),
        TextArrived(text=ANSWER),
        CheckFinished(command="pytest -q", passed=False, exit_code=1, timed_out=False, failing=3, output=""),
    )
    async with stage.app.run_test(size=size) as pilot:
        await shows(pilot, "comment")
        for theme in SHIPPED:
            await assert_readable(stage, pilot, theme)


@pytest.mark.parametrize("size", [(60, 20), (120, 40)])
async def test_the_gate_with_a_diff_is_readable_in_every_theme(tmp_path: Path, size: tuple[int, int]) -> None:
    stage = GateStage(tmp_path)
    async with stage.app.run_test(size=size) as pilot:
        await stage.opened(pilot, started(), StepStarted(number=1), stage.edit())
        for theme in SHIPPED:
            await assert_readable(stage, pilot, theme)


async def test_the_first_screen_and_the_help_are_readable_in_every_theme(tmp_path: Path) -> None:
    stage = Stage(start=PlayedStart(tmp_path))
    async with stage.app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "Model")
        for theme in SHIPPED:
            await assert_readable(stage, pilot, theme)
        await pilot.press("f1")
        await pilot.pause()
        for theme in SHIPPED:
            await assert_readable(stage, pilot, theme)


async def test_a_command_at_the_gate_is_readable_in_every_theme(tmp_path: Path) -> None:
    stage = GateStage(tmp_path)
    async with stage.app.run_test(size=(120, 40)) as pilot:
        await stage.opened(pilot, started(), StepStarted(number=1), proposal(1))
        for theme in SHIPPED:
            await assert_readable(stage, pilot, theme)
