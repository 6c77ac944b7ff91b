"""Show each setting with its value and its origin, and where to change it."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from rundry.agent import OPTIONS, Setting, Settings

from ..start.shown_settings import shown_setting
from ..text.show_text import one_line
from .picker import Picker
from .picker_rows import PickRow

_NAME, _ORIGIN = 18, 26
"""Cells of the columns of a name and of an origin."""
_MARK = 3
"""Cells of the mark before a row and of its end."""
_NARROW = 70
"""Width of the screen below which the origin is shown only for values that were set."""


class SettingsPicker(Picker[str]):
    """The settings, those that were set first. It only shows them."""

    title_text = "Settings"
    hint = "type to search names, values and origins"

    def __init__(self, settings: Settings, config: str) -> None:
        """`config`: the path of the user's config file, as it is shown."""
        super().__init__()
        found = [(name, setting) for name, setting in settings.items() if name in OPTIONS]
        self._settings = dict(sorted(found, key=lambda each: each[1].source == "default"))
        self._config = config

    def rows(self, wanted: str) -> Sequence[PickRow[str]]:
        """Return a row for each setting whose name, value or origin contains each word."""
        words = wanted.casefold().split()
        found = [
            (name, setting)
            for name, setting in self._settings.items()
            if all(word in f"{name} {shown_setting(name, setting)} {setting.origin}".casefold() for word in words)
        ]
        if not found:
            return [PickRow(Content.styled("no setting has this text in its name, value or origin", "$dim"))]
        return [PickRow(self._row(name, setting), name) for name, setting in found]

    def _row(self, name: str, setting: Setting) -> Content:
        is_set = setting.source != "default"
        room = max(8, min(106, self.size.width - 4) - _MARK - _NAME - 2)
        width = room if self.size.width < _NARROW and not is_set else room - _ORIGIN
        value = one_line(shown_setting(name, setting))
        value = value if len(value) <= width else f"{value[: max(0, width - 1)]}…"
        origin = "" if width == room else one_line(setting.origin)[:_ORIGIN]
        return Content.assemble(
            (f"{name:<{_NAME}} ", "$bright" if is_set else "$dim"),
            (f"{value:<{width}} ", "$foreground" if is_set else "$dim"),
            (origin, "$foreground" if is_set else "$faint"),
        )

    def about(self, marked: str | None) -> Content:
        """Return the whole value of the selected setting, and where to change it."""
        if marked is None:
            return Content("")
        setting, option = self._settings[marked], OPTIONS[marked]
        flag = f"--{marked.replace('_', '-')}, " if option.flag else ""
        env = f"RUNDRY_{marked.upper()}, " if option.from_env else ""
        project = "" if option.user_only else ".rundry.toml or "
        value = one_line(shown_setting(marked, setting))
        return Content(f"{marked} = {value}   ({one_line(setting.origin)})\n").append(
            f"change it: {flag}{env}or {option.config_key} in {project}{self._config}"
        )

    def keys(self) -> Sequence[tuple[str, str]]:
        """Return the keys of the footer, each with its label."""
        return [("mark_up mark_down", "select"), ("close_dialog", "close")]

    def pick(self) -> None:
        """Do nothing: a setting is changed where its last line says."""
