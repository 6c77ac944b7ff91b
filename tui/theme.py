"""Colours: a TOML file a theme, read into a Textual theme and into the styles that our own widgets draw with.

A token of the file is a CSS variable (`$needs-you`, `$verdict-good`: its colour) and a field of `Palette` (the whole
style). A widget takes `palette_of(app)` when it draws, and draws again in `notify_style_update`.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rich.style import Style

from rundry.agent import ConfigError

if TYPE_CHECKING:
    from textual.app import App
    from textual.theme import Theme

SHIPPED = ("dark", "light", "high-contrast", "terminal")
"""In the order in which a person is offered them."""
_FOLDER = Path(__file__).parent.parent / "themes"
_STYLE = "style-of-"
_FEW = "tokens-256"
_ANSI = {
    "ansi-background": "ansi_black",
    "ansi-foreground": "ansi_white",
    "border-blurred": "ansi_bright_black",
    "block-cursor-foreground": "ansi_black",
    "block-cursor-background": "ansi_cyan",
    "footer-key-foreground": "ansi_cyan",
}
"""What textual asks of a theme of the terminal's own colours."""


@dataclass(frozen=True, slots=True)
class Palette:
    """Every token of a theme as a style. `background` is the ground it is drawn on."""

    bright: Style
    dim: Style
    """What is past."""
    faint: Style
    """What is there to be found, not to be read: step numbers, fold marks."""
    rule: Style
    needs_you: Style
    person: Style
    """What the person said."""
    verdict_good: Style
    verdict_bad: Style
    verdict_partly: Style
    meter_ok: Style
    meter_warn: Style
    meter_over: Style
    meter_track: Style
    mark: Style
    """A mark that `text.show` put in."""
    match: Style
    match_current: Style
    selection: Style
    cursor: Style
    thumb: Style
    diff_added: Style
    diff_removed: Style
    diff_added_word: Style
    diff_removed_word: Style
    diff_added_sign: Style
    diff_removed_sign: Style
    code: Style
    code_keyword: Style
    code_string: Style
    code_number: Style
    code_comment: Style
    code_name: Style
    code_type: Style
    code_operator: Style
    heading: Style
    link: Style
    inline_code: Style


def load_theme(path: Path, *, few_colors: bool = False) -> Theme:
    """The theme in a TOML file. Raises ConfigError naming the file, the key and the mend.

    `few_colors`: for a terminal of 256, which takes the nearest it has; what would look the same then has other values
    in `[tokens-256]`.
    """
    from textual.color import Color, ColorParseError
    from textual.theme import Theme

    table = _read(path)
    colors, tokens = _strings(path, table, "colors"), _strings(path, table, "tokens")
    other = _strings(path, table, _FEW) if _FEW in table else {}
    for key, value in colors.items():
        try:
            Color.parse(value)
        except ColorParseError:
            raise ConfigError(f"{path}: colors.{key} = {value!r} is not a colour: write it like #7cb7ff") from None
    known = {field.name for field in fields(Theme)} - {"name", "dark", "ansi", "variables"}
    _refuse(path, "colors", unknown=set(colors) - known, missing={"primary"} - set(colors))
    names = {field.name.replace("_", "-") for field in fields(Palette)}
    _refuse(path, "tokens", unknown=set(tokens) - names, missing=names - set(tokens))
    _refuse(path, _FEW, unknown=set(other) - names, missing=set())
    for name, value in other.items():
        _parse(path, name, value)
    tokens = {**tokens, **other} if few_colors else tokens
    variables = dict(_ANSI) if table.get("ansi") else {}
    for name, value in tokens.items():
        variables[_STYLE + name] = value
        variables[name] = _css_color(_parse(path, name, value))
    selection = _parse(path, "selection", tokens["selection"])
    if selection.bgcolor is not None:
        variables["screen-selection-background"] = _css_color(Style(color=selection.bgcolor))
        variables["input-selection-background"] = variables["screen-selection-background"]
    return Theme(
        name=str(table["name"]),
        dark=bool(table.get("dark", True)),
        ansi=bool(table.get("ansi", False)),
        variables=variables,
        **cast("dict[str, Any]", colors),
    )


def register_themes(app: App[Any]) -> None:
    """Make the shipped themes known to the app; `app.theme = "dark"` then picks one."""
    few_colors = not app.is_headless and app.console.color_system != "truecolor"
    for name in SHIPPED:
        app.register_theme(load_theme(_FOLDER / f"{name}.toml", few_colors=few_colors))


def palette_of(app: App[Any]) -> Palette:
    """The styles of the app's theme; those of `dark` where the theme is none of ours."""
    variables = app.current_theme.variables
    if _STYLE + "bright" not in variables:
        return shipped_palette("dark")
    return _palette(tuple((key, value) for key, value in variables.items() if key.startswith(_STYLE)))


@lru_cache(maxsize=8)
def shipped_palette(name: str) -> Palette:
    """The styles of a shipped theme, without an app."""
    tokens = _strings(_FOLDER / f"{name}.toml", _read(_FOLDER / f"{name}.toml"), "tokens")
    return _palette(tuple((_STYLE + key, value) for key, value in tokens.items()))


@lru_cache(maxsize=8)
def _palette(styles: tuple[tuple[str, str], ...]) -> Palette:
    return Palette(**{key.removeprefix(_STYLE).replace("-", "_"): Style.parse(value) for key, value in styles})


def _read(path: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: the theme cannot be read: {error}") from None
    if not isinstance(table.get("name"), str):
        raise ConfigError(f'{path}: the theme has no name: add `name = "{path.stem}"`')
    return table


def _strings(path: Path, table: dict[str, Any], section: str) -> dict[str, str]:
    found = table.get(section)
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: the theme has no table [{section}]: copy it from dark.toml")
    given = cast("dict[str, object]", found)
    for key, value in given.items():
        if not isinstance(value, str):
            raise ConfigError(f"{path}: {section}.{key} must be a string in quotes")
    return cast("dict[str, str]", given)


def _refuse(path: Path, section: str, *, unknown: set[str], missing: set[str]) -> None:
    if unknown:
        raise ConfigError(f"{path}: {section} has no setting {', '.join(sorted(unknown))}: see dark.toml for the names")
    if missing:
        raise ConfigError(f"{path}: {section} is missing {', '.join(sorted(missing))}: copy it from dark.toml")


def _parse(path: Path, name: str, value: str) -> Style:
    from rich.errors import StyleSyntaxError

    try:
        return Style.parse(value)
    except StyleSyntaxError:
        raise ConfigError(f"{path}: tokens.{name} = {value!r} is not a style: write it like `bold #7cb7ff`") from None


def _css_color(style: Style) -> str:
    """The colour of a style as Textual's CSS writes it; for a style without one, the terminal's own."""
    color = style.color or style.bgcolor
    if color is None or color.is_default:
        return "ansi_default 60%" if style.dim else "ansi_default"
    if color.triplet is not None:
        return color.triplet.hex
    return f"ansi_{color.name}"
