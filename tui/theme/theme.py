"""Colours: a TOML file a theme, read into a Textual theme and into the styles that our own widgets draw with.

A token of the file is a CSS variable (`$needs-you`, `$verdict-good`: its colour) and a field of `Palette` (the whole
style). A widget takes `palette_of(app)` when it draws, and draws again in `notify_style_update`.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rich.style import Style

from rundry.agent import ConfigError

if TYPE_CHECKING:
    from textual.app import App
    from textual.theme import Theme

SHIPPED = ("dark", "light", "high-contrast", "terminal")
"""The themes of rundry, in the order in which they are offered."""
_FOLDER = Path(__file__).parents[2] / "themes"
_STYLE = "style-of-"
_FEW = {256: "tokens-256", 16: "tokens-16"}
_256 = 256
_ANSI = {
    "ansi-background": "ansi_black",
    "ansi-foreground": "ansi_white",
    "border-blurred": "ansi_bright_black",
    "block-cursor-foreground": "ansi_black",
    "block-cursor-background": "ansi_cyan",
    "footer-key-foreground": "ansi_cyan",
}
"""The colours that textual requires of a theme with the terminal's own colours."""


@dataclass(frozen=True, slots=True)
class Palette:
    """Every token of a theme as a style. `background` is the colour below everything."""

    bright: Style
    dim: Style
    """Past entries."""
    faint: Style
    """Less important characters, such as step numbers and fold marks."""
    rule: Style
    needs_you: Style
    person: Style
    """Text of the user."""
    verdict_good: Style
    verdict_bad: Style
    verdict_partly: Style
    meter_ok: Style
    meter_warn: Style
    meter_over: Style
    meter_track: Style
    mark: Style
    """A mark that `text.show` inserted."""
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


def load_theme(path: Path, *, depth: int = 1 << 24) -> Theme:
    """Return the theme in a TOML file. Raises ConfigError naming the file, the line, the key and the fix.

    `depth`: colours of the terminal. With 256, `[tokens-256]` replaces tokens that would look the same. With 16 or
    none, the terminal's own colours are used, and `[tokens-16]` replaces tokens.
    """
    file = ThemeFile.read(path)
    colors, tokens = file.strings("colors"), file.strings("tokens")
    few = {name: file.strings(name) if name in file.table else {} for name in _FEW.values()}
    _refuse_colors(file, colors)
    names = {field.name.replace("_", "-") for field in fields(Palette)}
    base = file.base()
    if base:
        below = ThemeFile.read(shipped_file(base))
        file.refuse("colors", known=_color_names(), needed=set())
        file.refuse("tokens", known=names, needed=set())
        colors = {**below.strings("colors"), **colors}
        inherited = {name: below.strings(name) if name in below.table else {} for name in few}
        few = {name: {k: v for k, v in inherited[name].items() if k not in tokens} | few[name] for name in few}
        tokens = {**below.strings("tokens"), **tokens}
    else:
        file.refuse("colors", known=_color_names(), needed={"primary"})
        file.refuse("tokens", known=names, needed=names)
    for section, others in few.items():
        if section in file.table:
            file.refuse(section, known=names, needed=set())
        for name, value in others.items():
            _parse(file, section, name, value)
    for name, value in tokens.items():
        _parse(file, "tokens", name, value)
    is_ansi = bool(file.table.get("ansi", base == "terminal"))
    if depth < _256 and not is_ansi:
        own = ThemeFile.read(shipped_file("terminal"))
        colors, tokens, is_ansi = own.strings("colors"), {**own.strings("tokens"), **few["tokens-16"]}, True
    elif depth == _256:
        tokens = {**tokens, **few["tokens-256"]}
    return _theme(str(file.table["name"]), file.is_dark(base), is_ansi, colors, tokens)


def _refuse_colors(file: ThemeFile, colors: dict[str, str]) -> None:
    from textual.color import Color, ColorParseError

    for key, value in colors.items():
        try:
            Color.parse(value)
        except ColorParseError:
            why = f"colors.{key} = {value!r} is not a colour: write it like #7cb7ff"
            raise file.error(why, "colors", key) from None


def _theme(name: str, dark: bool, is_ansi: bool, colors: dict[str, str], tokens: dict[str, str]) -> Theme:
    from textual.theme import Theme

    variables = dict(_ANSI) if is_ansi else {}
    for token, value in tokens.items():
        variables[_STYLE + token] = value
        variables[token] = _css_color(Style.parse(value))
    variables["text-muted"] = variables["text-disabled"] = variables["dim"]  # those of textual have too little contrast
    for part in ("scrollbar", "scrollbar-hover", "scrollbar-active"):
        variables[part] = variables["thumb"]
    for part in ("scrollbar-background", "scrollbar-background-hover", "scrollbar-background-active"):
        variables[part] = colors.get("surface", colors.get("background", variables["thumb"]))
    selection = Style.parse(tokens["selection"])
    if selection.bgcolor is not None:
        variables["screen-selection-background"] = _css_color(Style(color=selection.bgcolor))
        variables["input-selection-background"] = variables["screen-selection-background"]
    return Theme(name=name, dark=dark, ansi=is_ansi, variables=variables, **cast("dict[str, Any]", colors))


def shipped_file(name: str) -> Path:
    """Return the file of a theme of rundry."""
    return _FOLDER / f"{name}.toml"


def register_themes(app: App[Any], *, depth: int = 1 << 24) -> None:
    """Register the themes of rundry for a terminal with this number of colours; `app.theme = "dark"` then uses one."""
    for name in SHIPPED:
        app.register_theme(load_theme(shipped_file(name), depth=depth))


def palette_of(app: App[Any]) -> Palette:
    """Return the styles of the app's theme; those of `dark` if the theme is not one of rundry's."""
    variables = app.current_theme.variables
    if _STYLE + "bright" not in variables:
        return shipped_palette("dark")
    return _palette(tuple((key, value) for key, value in variables.items() if key.startswith(_STYLE)))


@lru_cache(maxsize=8)
def shipped_palette(name: str) -> Palette:
    """Return the styles of a theme of rundry, without an app."""
    tokens = ThemeFile.read(shipped_file(name)).strings("tokens")
    return _palette(tuple((_STYLE + key, value) for key, value in tokens.items()))


@lru_cache(maxsize=8)
def _palette(styles: tuple[tuple[str, str], ...]) -> Palette:
    return Palette(**{key.removeprefix(_STYLE).replace("-", "_"): Style.parse(value) for key, value in styles})


@dataclass(frozen=True, slots=True)
class ThemeFile:
    """A TOML file of a theme, and the lines of its keys for error messages."""

    path: Path
    text: str
    table: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> ThemeFile:
        """Read a file. Raises ConfigError."""
        try:
            text = path.read_text(encoding="utf-8-sig")
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            line = re.search(r"at line (\d+)", str(error))
            where = f"{path}, line {line[1]}" if line else str(path)
            raise ConfigError(f"{where}: the theme cannot be read: {error}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: the theme cannot be read: {error}") from None
        file = cls(path, text, table)
        if not isinstance(table.get("name"), str):
            raise ConfigError(f'{path}: the theme has no name: add `name = "{path.stem}"`')
        known = {"name", "dark", "ansi", "base", "colors", "tokens", *_FEW.values()}
        for key in table:
            if key not in known:
                raise file.error(f"{key} is not a setting of a theme: remove it", "", key)
        return file

    def strings(self, section: str) -> dict[str, str]:
        """Return a table of strings; empty if the theme has a base and no such table. Raises ConfigError."""
        found = self.table.get(section, {} if self.table.get("base") else None)
        if not isinstance(found, dict):
            raise ConfigError(f'{self.path}: the theme has no table [{section}]: add it, or `base = "dark"` at the top')
        given = cast("dict[str, object]", found)
        for key, value in given.items():
            if not isinstance(value, str):
                raise self.error(f"{section}.{key} must be a string in quotes", section, key)
        return cast("dict[str, str]", given)

    def base(self) -> str:
        """Return the theme of rundry that this one changes, or an empty string. Raises ConfigError."""
        base = self.table.get("base", "")
        if base != "" and base not in SHIPPED:
            raise self.error(f"base = {base!r} is not a theme of rundry: use {', '.join(SHIPPED)}", "", "base")
        return str(base)

    def is_dark(self, base: str) -> bool:
        """Return whether the theme has a dark background."""
        return bool(self.table.get("dark", base != "light"))

    def refuse(self, section: str, *, known: set[str], needed: set[str]) -> None:
        """Raise ConfigError for a key that no theme has, or one that is missing."""
        given = self.strings(section)
        for key in given:
            if key not in known:
                near = get_close_matches(key, known, 1)
                fix = f"did you mean {near[0]}?" if near else "docs/reference/theme-tokens.md lists the names"
                raise self.error(f"{section} has no setting {key}: {fix}", section, key)
        if missing := needed - set(given):
            names = ", ".join(sorted(missing))
            raise ConfigError(f'{self.path}: {section} is missing {names}: add it, or `base = "dark"` at the top')

    def error(self, why: str, section: str, key: str) -> ConfigError:
        """Return the error about a key, with its line."""
        line = self._line(section, key)
        return ConfigError(f"{self.path}{f', line {line}' if line else ''}: {why}")

    def _line(self, section: str, key: str) -> int | None:
        inside = ""
        for number, line in enumerate(self.text.splitlines(), 1):
            bare = line.strip()
            if bare.startswith("["):
                inside = bare.partition("]")[0].strip("[ ")
                if key == inside and not section:
                    return number
            elif inside == section and bare.partition("=")[0].strip().strip("\"'") == key:
                return number
        return None


def _color_names() -> set[str]:
    from textual.theme import Theme

    return {field.name for field in fields(Theme)} - {"name", "dark", "ansi", "variables"}


def _parse(file: ThemeFile, section: str, name: str, value: str) -> Style:
    from rich.errors import StyleSyntaxError

    try:
        return Style.parse(value)
    except StyleSyntaxError:
        why = f"{section}.{name} = {value!r} is not a style: write it like `bold #7cb7ff`"
        raise file.error(why, section, name) from None


def _css_color(style: Style) -> str:
    """Return the colour of a style as Textual's CSS writes it; for a style without one, the terminal's own."""
    color = style.color or style.bgcolor
    if color is None or color.is_default:
        return "ansi_default 60%" if style.dim else "ansi_default"
    if color.triplet is not None:
        return color.triplet.hex
    return f"ansi_{color.name}"
