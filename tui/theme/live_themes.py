"""The themes of a running app: registers them, and loads a theme of the user again when its file is saved."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.message import Message

from rundry.agent import RundryError

from .theme import SHIPPED, register_themes
from .user_themes import FoundThemes, unknown_theme, user_themes

if TYPE_CHECKING:
    from .colour_depth import Depth

_STEP, _SETTLE = 300, 200
"""Milliseconds between two looks for saved files, and without a change after the last one."""


class ThemeLoaded(Message):
    """Posted to the app when a file of a theme was saved; `line` says what became of it."""

    def __init__(self, line: str) -> None:
        super().__init__()
        self.line = line


class Themes:
    """Names, choice and reloading. A file with a mistake never replaces a theme that works."""

    def __init__(self, app: App[Any], depth: Depth, folder: Path | None) -> None:
        """`folder`: of the user's themes."""
        self._app = app
        self._depth: Depth = depth
        self._folder = folder
        self._found = FoundThemes()

    def start(self, wanted: str) -> tuple[str, str]:
        """Register all themes. Return the theme to use, and what is wrong with the user's files or an empty string."""
        register_themes(self._app, depth=self._depth)
        self._found = self._read()
        for theme in self._found.themes.values():
            self._app.register_theme(theme)
        wrong = list(self._found.mistakes.values())
        if self._depth == 0 and wanted in SHIPPED:
            wanted = "terminal"
        if wanted not in self.names:
            if not wrong:
                wrong.append(unknown_theme(wanted, self.names, os.environ))
            wanted = "dark" if self._depth else "terminal"
        return wanted, self._short(wrong[0]) if wrong else ""

    @property
    def names(self) -> list[str]:
        """The themes to choose from: rundry's, then the user's."""
        return [*SHIPPED, *self._found.themes]

    def choose(self, name: str) -> str:
        """Return the theme with this name, or the one after the current theme if it is empty. Raises RundryError."""
        names, current = self.names, self._app.theme
        if name and name not in names:
            broken = next((why for path, why in self._found.mistakes.items() if path.stem == name), None)
            raise RundryError(self._short(broken or "") or f"/theme {name}: use one of {', '.join(names)}")
        now = names.index(current) if current in names else -1
        return name or names[(now + 1) % len(names)]

    async def watch(self) -> None:
        """Load the user's themes again whenever a file of the folder is saved, until the task is cancelled."""
        if self._folder is None or not self._folder.is_dir():
            return
        from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType]

        async for changes in awatch(self._folder, step=_STEP, debounce=_SETTLE, recursive=False):
            paths = {Path(path) for _, path in changes if path.endswith(".toml")}
            if paths:
                self._reload(paths)

    def _short(self, mistake: str) -> str:
        """Leave out the folder, for which a line of the screen has no room."""
        return mistake.replace(f"{self._folder}{os.sep}", "")

    def _read(self) -> FoundThemes:
        return FoundThemes() if self._folder is None else user_themes(self._folder, self._depth)

    def _reload(self, saved: set[Path]) -> None:
        before, self._found = self._found, self._read()
        for path, why in self._found.mistakes.items():
            for name, file in before.files.items():  # the theme is unchanged
                if file == path and name not in self._found.themes:
                    self._found.themes[name], self._found.files[name] = before.themes[name], file
            if path in saved:
                self._app.post_message(ThemeLoaded(self._short(why)))
        repaired = {file for file in before.mistakes if file not in self._found.mistakes}
        changed = [
            name
            for name, theme in self._found.themes.items()
            if before.themes.get(name) != theme or self._found.files[name] in repaired
        ]
        for name in changed:
            self._app.register_theme(self._found.themes[name])
        if self._app.theme in changed:
            self._app.refresh_css(animate=False)
            for screen in self._app.screen_stack:
                for widget in (screen, *screen.query("*")):
                    widget.notify_style_update()
            self._app.post_message(ThemeLoaded(f"theme {self._app.theme} was loaded again"))
        elif changed:
            line = f"theme {', '.join(changed)} was loaded: /theme {changed[0]} uses it"
            self._app.post_message(ThemeLoaded(line))
