"""Themes of the user: TOML files in the folder `themes` of the config folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rundry.agent import ConfigError, config_file

from .colour_depth import TRUE_COLOR, Depth
from .theme import SHIPPED, load_theme, shipped_file

if TYPE_CHECKING:
    from textual.theme import Theme


@dataclass(slots=True)
class FoundThemes:
    """The themes of the user's folder, and the mistakes in its files."""

    themes: dict[str, Theme] = field(default_factory=dict["str", "Theme"])
    """By name, in the order of the file names."""
    files: dict[str, Path] = field(default_factory=dict[str, Path])
    """The file of each theme."""
    mistakes: dict[Path, str] = field(default_factory=dict[Path, str])
    """Why a file is not used, with its path and line."""


def themes_folder(env: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the user's themes, which may not exist."""
    return config_file(os.environ if env is None else env).parent / "themes"


def user_themes(folder: Path, depth: Depth = TRUE_COLOR) -> FoundThemes:
    """Read all themes of a folder."""
    found = FoundThemes()
    for path in sorted(folder.glob("*.toml")):
        try:
            theme = load_theme(path, depth=depth)
            if theme.name in SHIPPED:
                raise ConfigError(f'{path}: name = "{theme.name}" is the name of a theme of rundry: choose another one')
            if theme.name in found.files:
                raise ConfigError(f'{path}: {found.files[theme.name].name} is already named "{theme.name}"')
        except ConfigError as error:
            found.mistakes[path] = str(error)
        else:
            found.themes[theme.name] = theme
            found.files[theme.name] = path
    return found


def theme_files(env: Mapping[str, str]) -> dict[str, Path]:
    """Return the file of each theme that can be chosen, by name."""
    return {**{name: shipped_file(name) for name in SHIPPED}, **user_themes(themes_folder(env)).files}


def theme_mistakes(wanted: str, env: Mapping[str, str]) -> list[str]:
    """Return what is wrong with the user's themes and with the chosen name."""
    found = user_themes(themes_folder(env))
    wrong = list(found.mistakes.values())
    names = [*SHIPPED, *found.themes]
    if wanted not in names and not any(path.stem == wanted for path in found.mistakes):
        wrong.append(unknown_theme(wanted, names, env))
    return wrong


def unknown_theme(wanted: str, names: list[str], env: Mapping[str, str]) -> str:
    """Return why a theme cannot be used, with the line of the config file that names it."""
    path = config_file(env)
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        lines = []
    number = next((n for n, line in enumerate(lines, 1) if line.partition("=")[0].strip() == "theme"), None)
    where = f"{path}, line {number}: " if number is not None else ""
    return f'{where}theme = "{wanted}" is not a theme: use one of {", ".join(names)}'
