"""Print the results of `rundry config` and of its parts `keys`, `themes` and `check`. Does not import textual."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping

from rundry.agent import Settings, config_file, rule_problem

from ..keys.action_places import PLACES
from ..keys.lookup import ACTIONS
from ..start.machine_checkup import config_mistakes
from ..start.new_run import Setup
from ..start.remaps import check_keys, keys_in
from ..start.shown_settings import shown_setting
from ..text.json_out import print_json
from ..text.show_text import one_line
from ..theme.theme import SHIPPED
from ..theme.user_themes import theme_files, theme_mistakes, themes_folder

_MOST_VALUE = 40
"""Columns of values; a longer one moves its origin to the right."""
MISTAKES = 2
"""Exit code if the config, `[keys]` or a theme has a mistake."""


def print_config(flags: Mapping[str, object], *, as_json: bool) -> int:
    """Print each setting with its origin. Return 0. Raises RundryError."""
    setup = Setup(flags, headless=False, begins=False)
    if as_json:
        print_json({"settings": settings_as_data(setup.settings), "notes": setup.notes})
        return 0
    wrong = filter(None, map(rule_problem, setup.settings.rules))
    for line in (*setting_lines(setup.settings), *(f"!  {note}" for note in (*setup.notes, *wrong))):
        print(one_line(line))
    return 0


def print_keys(flags: Mapping[str, object], *, as_json: bool) -> int:
    """Print each action with its keys. Return 2 if a remap is wrong or two share a key, else 0. Raises RundryError."""
    good, wrong = check_keys(Setup(flags, headless=False, begins=False).settings.keys)
    if as_json:
        rows = [
            {
                "action": action.name,
                "label": action.label,
                "keys": keys_in(action, good),
                "default": keys_in(action, {}),
                "where": action.where,
                "remapped": action.name in good,
            }
            for action in ACTIONS
        ]
        print_json({"keys": rows, "wrong": [str(each) for each in wrong]})
        return MISTAKES if wrong else 0
    for action in ACTIONS:
        keys = ", ".join(keys_in(action, good)) or "-"
        default = f"  (default: {', '.join(keys_in(action, {})) or '-'})" if action.name in good else ""
        print(one_line(f"{action.name:<16}  {keys:<22}  {PLACES[action.where]:<18}  {action.label}{default}"))
    for each in wrong:
        print(one_line(str(each)), file=sys.stderr)
    return MISTAKES if wrong else 0


def print_themes(flags: Mapping[str, object], *, as_json: bool) -> int:
    """Print each theme with its file. Return 2 if a theme of the user has a mistake, else 0. Raises RundryError."""
    chosen = Setup(flags, headless=False, begins=False).settings.theme
    files, wrong = theme_files(os.environ), theme_mistakes(chosen, os.environ)
    if as_json:
        rows = [{"name": name, "file": str(path), "chosen": name == chosen} for name, path in files.items()]
        print_json({"themes": rows, "folder": str(themes_folder()), "wrong": wrong})
        return MISTAKES if wrong else 0
    for name, path in files.items():
        print(one_line(f"{'*' if name == chosen else ' '} {name:<16}  {'' if name in SHIPPED else path}").rstrip())
    print(one_line(f"your themes: {themes_folder()}/*.toml"))
    for why in wrong:
        print(one_line(why), file=sys.stderr)
    return MISTAKES if wrong else 0


def print_check(flags: Mapping[str, object], *, as_json: bool) -> int:
    """Print what is wrong with the config, its keys and themes. Return 2 if anything is, else 0. Raises RundryError."""
    wrong = config_mistakes(Setup(flags, headless=False, begins=False).settings)
    if as_json:
        print_json({"wrong": wrong})
    elif not wrong:
        print(one_line(f"{config_file(os.environ)} has no mistakes"))
    for why in [] if as_json else wrong:
        print(one_line(why), file=sys.stderr)
    return MISTAKES if wrong else 0


def settings_as_data(settings: Settings) -> dict[str, dict[str, object]]:
    """Return each setting's value and origin, for JSON."""
    return {name: {"value": setting.value, "origin": setting.origin} for name, setting in settings.items()}


def setting_lines(settings: Settings) -> Iterator[str]:
    """Yield one line for each setting: its name, its value as it would be written, its origin."""
    rows = [(name, shown_setting(name, setting), setting.origin) for name, setting in settings.items()]
    width, values = max(len(name) for name, _, _ in rows), max(len(value) for _, value, _ in rows)
    for name, value, origin in rows:
        yield f"{name:<{width}}  {value:<{min(values, _MOST_VALUE)}} {origin}"
