"""All pages of the reference."""

from __future__ import annotations

import re
from pathlib import Path

from rundry.agent.protocol.version import VERSION
from rundry.tui.cli.man import man_page
from rundry.tui.cli.root import cli

from . import commands, config, ends, events, keys, search, themes
from .markdown import page
from .words import head

MAN_PAGE = "rundry.1"
_ENDINGS = (".md", ".1", ".json")
_TITLES = re.compile(r"\A# (.+)")
_NOTE = "This page is generated from the program by `.dev/reference`."


def pages() -> dict[str, str]:
    """Map the name of each file to its text."""
    parts = (commands, keys, config, search, ends, events, themes)
    found = {name: f"{text}\n{_NOTE}\n" for part in parts for name, text in part.pages().items()}
    rows = [f"- [{_title(text)}]({name})" for name, text in found.items()]
    index = page([*head("index"), *rows, "", _NOTE])
    return {"index.md": index, MAN_PAGE: man_page(cli, VERSION), **search.schemas(), **found}


def committed(folder: Path) -> list[Path]:
    """Return the generated files that the folder has."""
    return [path for path in folder.iterdir() if path.suffix in _ENDINGS]


def write(folder: Path) -> list[str]:
    """Write the pages that changed, remove others. Return the names of the changed and removed files."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    there = {path.name: path.read_text(encoding="utf-8") for path in committed(folder)}
    for name in there.keys() - wanted.keys():
        (folder / name).unlink()
    for name, text in wanted.items():
        if there.get(name) != text:
            (folder / name).write_text(text, encoding="utf-8")
    return sorted(name for name in there.keys() | wanted.keys() if there.get(name) != wanted.get(name))


def _title(text: str) -> str:
    found = _TITLES.match(text)
    assert found is not None
    return found[1]
