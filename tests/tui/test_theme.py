from __future__ import annotations

from pathlib import Path

import pytest
from rich.color import Color, ColorSystem
from rich.style import Style
from textual.app import App

from rundry.agent import ConfigError
from rundry.tui.theme.theme import SHIPPED, load_theme, palette_of, register_themes, shipped_palette

THEMES = Path(__file__).parents[2] / "themes"


class Blank(App[None]):
    def on_mount(self) -> None:
        register_themes(self)


def _light(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    bright, dark = sorted((_light(one), _light(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_theme_loads_and_bears_its_name(name: str) -> None:
    assert load_theme(THEMES / f"{name}.toml").name == name


async def test_an_app_takes_every_theme_and_draws_with_its_styles() -> None:
    app = Blank()
    async with app.run_test():
        for name in SHIPPED:
            app.theme = name
            assert palette_of(app) == shipped_palette(name)
            assert app.get_css_variables()["needs-you"]


async def test_a_theme_that_is_none_of_ours_gets_the_styles_of_dark() -> None:
    app = Blank()
    async with app.run_test():
        app.theme = "nord"
        assert palette_of(app) == shipped_palette("dark")


@pytest.mark.parametrize(
    ("name", "tokens", "least"),
    [
        ("dark", ["dim", "verdict-good", "verdict-bad", "verdict-partly", "needs-you"], 4.5),
        ("light", ["dim", "verdict-good", "verdict-bad", "verdict-partly", "needs-you"], 4.5),
        ("high-contrast", ["dim", "faint", "verdict-good", "verdict-bad", "verdict-partly", "needs-you", "rule"], 5.5),
    ],
)
def test_what_is_to_be_read_stands_out_from_its_ground(name: str, tokens: list[str], least: float) -> None:
    theme = load_theme(THEMES / f"{name}.toml")
    assert theme.background is not None
    for token in tokens:
        assert _contrast(theme.variables[token], theme.background) >= least, token


@pytest.mark.parametrize("name", ["dark", "light", "high-contrast"])
def test_where_256_colours_are_all_there_is_what_differs_is_drawn_differently(name: str) -> None:
    theme = load_theme(THEMES / f"{name}.toml", depth=256)
    assert theme.background is not None
    grounds = ["diff-added", "diff-removed", "diff-added-word", "diff-removed-word"]
    styles = [theme.variables[f"style-of-{token}"] for token in grounds]
    shown = [_nearest(theme.background), *(_nearest(_ground(style)) for style in styles)]
    assert len(set(shown)) == len(shown), dict(zip(["background", *grounds], shown, strict=True))


def _ground(style: str) -> str:
    color = Style.parse(style).bgcolor
    assert color is not None
    return color.get_truecolor().hex


def _nearest(color: str) -> int | None:
    return Color.parse(color).downgrade(ColorSystem.EIGHT_BIT).number


@pytest.mark.parametrize("few_colors", [False, True])
@pytest.mark.parametrize("name", ["dark", "light", "high-contrast"])
def test_code_comments_and_line_numbers_can_be_read_on_every_ground_of_a_diff(name: str, few_colors: bool) -> None:
    styles = load_theme(THEMES / f"{name}.toml", depth=256 if few_colors else 1 << 24).variables
    tokens = {key.removeprefix("style-of-"): Style.parse(value) for key, value in styles.items() if "style-of-" in key}

    def drawn(color: Color | None) -> str:
        assert color is not None
        return (color.downgrade(ColorSystem.EIGHT_BIT) if few_colors else color).get_truecolor().hex

    code = [style for token, style in tokens.items() if token.startswith("code")]
    for kind in ("diff-added", "diff-removed"):
        for ground, least in ((tokens[kind], 3.2), (tokens[f"{kind}-word"], 2.5)):
            for style in (*code, tokens[f"{kind}-sign"]):
                both = style + ground
                assert _contrast(drawn(both.color), drawn(both.bgcolor)) >= least, (style, ground)


def test_added_and_removed_differ_in_more_than_colour_in_the_terminals_own() -> None:
    palette = shipped_palette("terminal")
    assert palette.diff_added_word.underline
    assert palette.diff_removed_word.underline


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('dim = "#9aa2ae"', 'dim = "loud #9aa2ae"', "tokens.dim"),
        ('dim = "#9aa2ae"', "", "tokens is missing dim"),
        ('dim = "#9aa2ae"', 'dim = "#9aa2ae"\ndimm = "red"', "has no setting dimm"),
        ('dim = "#9aa2ae"', "dim = 3", "tokens.dim must be a string"),
        ('primary = "#7cb7ff"', 'primary = "blau"', "colors.primary"),
        ('name = "dark"', "", "the theme has no name"),
        ("\n[tokens]", "\n[other]", "other is not a setting of a theme"),
        ("dark = true", "dark = ", "cannot be read"),
        ("[tokens-256]", "[tokens-256]\ndimm = 'red'", "tokens-256 has no setting dimm"),
        ("[tokens-256]", "[tokens-256]\nbright = 'loud'", "tokens-256.bright"),
    ],
)
def test_a_bad_theme_file_is_refused_with_the_key_that_is_wrong(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = (THEMES / "dark.toml").read_text()
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ConfigError, match=r"mine\.toml") as raised:
        load_theme(path)
    assert said in str(raised.value)
