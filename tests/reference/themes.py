"""Page of theme tokens: theme-tokens.md, from the palette and the shipped themes."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path

from rundry.tui.theme.theme import SHIPPED, Palette

from .markdown import code, page, table
from .words import WORDS, head

_THEMES = Path(__file__).parents[2] / "themes"


def pages() -> dict[str, str]:
    themes = {name: tomllib.loads((_THEMES / f"{name}.toml").read_text(encoding="utf-8")) for name in SHIPPED}
    tokens = [field.name.replace("_", "-") for field in dataclasses.fields(Palette)]
    rows = [
        (code(name), WORDS["tokens"][name], *(code(themes[theme]["tokens"][name]) for theme in SHIPPED))
        for name in tokens
    ]
    colors = sorted({name for theme in themes.values() for name in theme["colors"]})
    return {
        "theme-tokens.md": page(
            [
                *head("theme-tokens", themes=", ".join(map(code, SHIPPED))),
                *table(("token", "used for", *SHIPPED), rows),
                "## Colours of the widgets",
                "",
                *table(
                    ("name", *SHIPPED),
                    [
                        (code(name), *(code(themes[theme]["colors"].get(name, "")) for theme in SHIPPED))
                        for name in colors
                    ],
                ),
            ]
        )
    }
