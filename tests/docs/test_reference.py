from __future__ import annotations

import re
from functools import cache
from typing import get_args

import click
import pytest
from reference import FOLDER
from reference.pages import committed, pages, write

from rundry.agent.protocol import KnownEvent, event_name
from rundry.tui.cli.root import cli
from rundry.tui.keys.lookup import ACTIONS


@cache
def generated() -> dict[str, str]:
    return pages()


def test_the_committed_reference_is_what_the_command_writes():
    there = {path.name: path.read_text(encoding="utf-8") for path in committed(FOLDER)}
    differs = sorted(name for name in there | generated() if there.get(name) != generated().get(name))
    assert differs == [], "run .dev/reference and commit what it changed"


def test_the_command_writes_a_page_only_if_it_changed_and_removes_old_ones(tmp_path):
    assert write(tmp_path) == sorted(generated())
    assert write(tmp_path) == []
    (tmp_path / "old.md").write_text("gone")
    (tmp_path / "keys.md").write_text("changed")
    assert write(tmp_path) == ["keys.md", "old.md"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(generated())


def test_each_command_and_each_option_that_help_shows_is_in_the_reference():
    text = "".join(page for name, page in generated().items() if name.startswith(("commands", "options")))
    for name, command in cli.commands.items():
        assert f"## rundry {name}\n" in text
        for param in command.params:
            if isinstance(param, click.Option) and not param.hidden:
                assert param.opts[-1] in text


def test_each_action_and_each_event_is_in_the_reference():
    text = "".join(generated().values())
    assert [action.name for action in ACTIONS if f"| `{action.name}` |" not in text] == []
    kinds = get_args(KnownEvent)
    assert [kind for kind in kinds if f"\n## {event_name(kind)}\n" not in text] == []


@pytest.mark.parametrize("kind", get_args(KnownEvent), ids=lambda kind: kind.__name__)
def test_each_event_says_what_happened(kind):
    page = next(text for text in generated().values() if f"\n## {event_name(kind)}\n" in text)
    after = re.split(rf"\n## {event_name(kind)}\n\n", page)[1]
    assert re.match(r"[A-Z`][^\n]*\.", after), "give the event a docstring"
