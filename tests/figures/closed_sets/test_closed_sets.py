"""A text field with a closed set of values is a literal or an enum."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from ..source import ROOT, Source, code_of, read_tree
from .fields import closed_sets

OPEN = tomllib.loads(Path(__file__).with_name("open.toml").read_text(encoding="utf-8"))


def found(text: str) -> dict[str, list[str]]:
    return closed_sets([Source("agent/a.py", text)])


def test_a_text_field_with_a_closed_set_of_values_is_a_literal_or_an_enum_unless_the_list_of_open_fields_has_it():
    assert set(closed_sets(code_of(read_tree(ROOT)))) == set(OPEN)


@pytest.mark.parametrize(
    ("lines", "values"),
    [
        ('a: str\n    """`one`, `two` or `three`."""', ["one", "three", "two"]),
        ('a: str\n    """`one` or `two`."""', ["one", "two"]),
        ('a: str\n    """A name such as `one`."""', None),
        ('a: Literal["one", "two"]\n    """`one` or `two`."""', None),
    ],
)
def test_a_docstring_that_lists_the_values_of_a_text_is_found(lines: str, values: list[str] | None):
    assert found(f"class A:\n    {lines}\n").get("agent/a.py:A.a") == values


def test_a_text_that_two_places_compare_with_words_is_found():
    once = 'class A:\n    a: str\n\ndef f(x):\n    return x.a == "one"\n'
    twice = once + '\ndef g(x):\n    match x.a:\n        case "two":\n            return 1\n'
    assert found(once) == {}
    assert found(twice) == {"agent/a.py:A.a": ["one", "two"]}
