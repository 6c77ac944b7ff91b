"""Values that are refused, with their place and how to fix them."""

from __future__ import annotations

import os
import re

import pytest
from settings.setting_places import Place

from rundry.agent.protocol import ConfigError, UserError
from rundry.agent.settings.settings import config_file


def test_a_file_that_is_not_utf8_or_cannot_be_read_is_named(place: Place) -> None:
    config_file(place.env).parent.mkdir(parents=True)
    config_file(place.env).write_bytes(b"theme = '\xff'")
    with pytest.raises(ConfigError, match=r"config\.toml: it is not UTF-8"):
        place.load()
    config_file(place.env).unlink()
    config_file(place.env).mkdir()
    with pytest.raises(ConfigError, match=r"config\.toml cannot be read"):
        place.load()


@pytest.mark.parametrize(
    "key", ["theme = 'x'", "runs_dir = '/tmp'", "[keys]\napprove = 'y'", "[model]\nkey_from='AWS'"]
)
def test_what_concerns_the_person_cannot_be_set_by_a_project(place: Place, key: str) -> None:
    place.project(key)
    with pytest.raises(ConfigError, match="user's own config"):
        place.load()


@pytest.mark.parametrize(
    ("name", "value", "mend"),
    [
        ("steps", "x", "--steps: 'x' is not a whole number"),
        ("until_py", [""], "--until-py: '' is empty"),
        ("on_ask", "shrug", "--on-ask: 'shrug' is not possible: write refuse or handoff"),
        ("loop", "forever", "--loop: 'forever' is not possible"),
        ("deadline", "yesterday", "--deadline: 'yesterday' is not a deadline"),
    ],
)
def test_a_bad_flag_is_named_with_the_fix(place: Place, name: str, value: object, mend: str) -> None:
    with pytest.raises(UserError, match=re.escape(mend)):
        place.load(**{name: value})


def test_a_bad_variable_is_named(place: Place) -> None:
    place.env["RUNDRY_USD"] = "lots"
    with pytest.raises(UserError, match=r"^RUNDRY_USD: 'lots' is not an amount"):
        place.load()


def test_a_pipe_in_place_of_the_project_file_does_not_hang_the_start(place: Place) -> None:
    os.mkfifo(place.workspace / ".rundry.toml")
    assert place.load(trust=True)["steps"].value == 40
