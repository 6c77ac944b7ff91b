"""The options of the Python API are those of the program, and a value that would count as not set is refused."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from rundry.agent import OPTIONS, UserError
from rundry.tui.api.options import SCREEN_ONLY, Options, SearchOptions, flags_of
from rundry.tui.cli.root import cli


def test_the_type_lists_every_option_of_the_program():
    assert set(Options.__annotations__) == set(OPTIONS) - SCREEN_ONLY | {"folder", "trust"}


def test_the_type_lists_every_option_of_a_search():
    of_the_command = {parameter.name for parameter in cli.commands["find"].params}
    own = set(SearchOptions.__annotations__) - set(Options.__annotations__) - {"values"}
    assert own <= of_the_command, own - of_the_command
    left_out = {
        "words", "set_", "resume", "cwd", "headless", "json_", "print_", "output", "plain", "ascii_", "theme", "every",
    }  # fmt: skip
    missing = {name for name in of_the_command - own - set(OPTIONS) - left_out if name is not None}
    assert missing <= {"trust"}, missing


@pytest.mark.parametrize("value", [None, [], (), "", {}])
def test_a_value_that_would_count_as_not_set_is_refused(value: Any):
    with pytest.raises(UserError, match="leave it out"):
        flags_of({"until": value})


def test_false_is_passed_on_so_that_it_overrides_the_config():
    assert flags_of({"network": False, "confirm": True}) == {"network": "no", "confirm": True}


def test_an_unknown_name_is_an_error_of_the_call_and_names_the_nearest_one():
    with pytest.raises(TypeError, match="unknown option 'step': did you mean steps"):
        flags_of({"step": 3})
    with pytest.raises(TypeError, match="unknown option 'theme'"):
        flags_of({"theme": "dark"})
    with pytest.raises(TypeError, match="unknown option 'recipe'"):
        flags_of({"recipe": "crawl"})


def test_a_chat_is_refused():
    with pytest.raises(UserError, match="a chat needs a person"):
        flags_of({"loop": "chat"})


def test_values_of_python_become_values_of_options(tmp_path: Path):
    found = flags_of(
        {"folder": tmp_path, "until": ("a", "b"), "price": (3, 15), "trust": False, "values": {"n": "1"}},
        searches=True,
    )
    assert found == {
        "cwd": str(tmp_path), "until": ["a", "b"], "price": [3, 15], "trust": False, "set_": ("n=1",),
    }  # fmt: skip
    assert OPTIONS["price"].read(found["price"], 0.0) == (3.0, 15.0)
    moment = datetime.datetime(2099, 1, 1, 12, 0)
    assert OPTIONS["deadline"].read(flags_of({"deadline": moment})["deadline"], 0.0) == moment.timestamp()
