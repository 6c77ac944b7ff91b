"""Definitions of an answer in a Python file: what it changes changes, and everything else stays byte for byte."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, strategies as st

from rundry.agent.step.formats.merge_definitions import merge, same_program

FILE = '''\
"""Numbers."""
import os

LIMIT = 3


class Box:
    """A box."""

    def get(self):
        """Return it."""
        return self.it

    def put(self, it):
        self.it = it


def gcd(a, b):
    """Greatest common divisor.

    >>> gcd(4, 6)
    2
    """
    # Euclid
    return gcd(a % b, b)


print(gcd(1, 2))
'''


def merged(new: str, original: str = FILE) -> str:
    found = merge(new, original)
    assert found is not None
    return found.text


def test_a_function_is_replaced_and_keeps_its_docstring():
    text = merged("def gcd(a, b):\n    return a if b == 0 else gcd(b, a % b)\n")
    assert text == FILE.replace(
        "    # Euclid\n    return gcd(a % b, b)\n", "    return a if b == 0 else gcd(b, a % b)\n"
    )


def test_helpers_constants_and_imports_come_along_if_they_are_used():
    text = merged(
        "import math\nimport pytest\nSIZE = 4\n\ndef half(n):\n    return math.floor(n / SIZE)\n\n"
        "def unused():\n    pass\n\n"
        "def gcd(a, b):\n    return half(a)\n\ndef test_gcd():\n    assert gcd(1, 2) == 1\n"
    )
    assert "import os\nimport math\n" in text and "SIZE = 4\n" in text and "def half" in text
    assert "pytest" not in text and "unused" not in text and "test_gcd" not in text
    ast.parse(text)


def test_a_class_keeps_the_methods_that_the_answer_leaves_out():
    found = merge(
        "class Box:\n    def put(self, it):\n        self.it = [it]\n\n    def drop(self):\n        del self.it\n", FILE
    )
    assert found is not None
    assert "return self.it" in found.text and "self.it = [it]" in found.text and "def drop" in found.text
    assert found.notes == ["kept in Box, although the answer leaves it out: get"]


def test_a_method_that_stands_alone_goes_to_the_class_that_has_it():
    assert '        """Return it."""\n        return 5\n' in merged("def get(self):\n    return 5\n")


@pytest.mark.parametrize(
    "new",
    [
        "def other():\n    pass\n",
        "def gcd(a, b:\n",
        "print(gcd(3, 4))\n",
        "",
        "class Box:\n    @property\n    def get(self):\n        return 1\n\n    @get.setter\n"
        "    def get(self, it):\n        self.it = it\n",
        "LIMIT = 4; OTHER = 5\n",
    ],
)
def test_what_is_not_certain_is_not_merged(new: str):
    assert merge(new, FILE) is None


def test_a_property_with_its_setter_is_not_mixed_up():
    file = "class A:\n    @property\n    def x(self):\n        return 1\n\n    @x.setter\n"
    "    def x(self, it):\n        self.it = it\n"
    assert merge(file.replace("return 1", "return 2"), file) is None


def test_a_statement_that_shares_its_line_is_not_replaced():
    assert merge("x = 5\n", "x = 1; y = 2\n") is None


NAMES = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6, unique=True)


@given(NAMES, st.data())
def test_statements_that_the_answer_does_not_have_stay_as_they_are(names: list[str], data: st.DataObject):
    kinds = [data.draw(st.sampled_from(["def", "class", "value"]), label=name) for name in names]
    file = "".join(_statement(kind, name, 1) for kind, name in zip(kinds, names, strict=True))
    changed = data.draw(st.sampled_from(names))
    new = _statement(kinds[names.index(changed)], changed, 2)
    found = merge(new, file)
    assert found is not None
    before, after = ast.parse(file).body, ast.parse(found.text).body
    for name, old, now in zip(names, before, after, strict=True):
        assert (ast.dump(old) == ast.dump(now)) == (name != changed)


def _statement(kind: str, name: str, number: int) -> str:
    match kind:
        case "def":
            return f"def {name}(x):\n    # note\n    return x + {number}\n\n\n"
        case "class":
            return f"class {name}:\n    it = {number}\n\n\n"
        case _:
            return f"{name} = {number}\n"


def test_programs_that_do_the_same_in_a_test_run_are_the_same():
    one = "def f(x):\n    return x\n"
    assert same_program(one) == same_program('def f(x):\n    """Doc."""\n    return x  # note\n')
    assert same_program(one) != same_program('def f(x):\n    """\n    >>> f(1)\n    1\n    """\n    return x\n')
    assert same_program(one) != same_program("def f(x):\n    return -x\n")


def test_decorators_that_the_answer_leaves_out_are_kept():
    old = "class Game:\n    @property\n    def score(self):\n        return 0\n\n    @staticmethod\n    def new():\n"
    old += "        pass\n"
    merged = merge("class Game:\n    def score(self):\n        return 1\n", old)
    assert merged is not None and merged.text == old.replace("return 0", "return 1")
    assert "the decorators of score were kept" in merged.notes
    changed = merge("@cached_property\ndef score(self):\n    return 1\n", old)
    assert changed is not None and "@cached_property" in changed.text and "@property" not in changed.text


MODE = (
    "import statistics\nSIZE = 2\nDOUBLE = SIZE * 2\n\ndef mode(values):\n    return statistics.mode(values * DOUBLE)\n"
)


def test_a_wanted_function_is_added_behind_the_last_definition_with_what_it_uses():
    found = merge(
        f"def gcd(a, b):\n    return a\n\n{MODE}\ndef main():\n    print(mode([1]))\n", FILE, {"mode"}.__contains__
    )
    assert found is not None
    assert found.notes[-1:] == ["not taken from the answer, because nothing uses it: main"]
    assert found.text.index("def gcd") < found.text.index("def mode") < found.text.index("print(gcd(1, 2))")
    assert "import os\nimport statistics\n" in found.text
    assert found.text.index("SIZE = 2") < found.text.index("DOUBLE = SIZE")
    ast.parse(found.text)


def test_a_text_that_only_adds_is_merged_if_the_answer_names_the_file_and_all_of_it_is_wanted():
    assert merge(MODE, FILE, {"mode"}.__contains__) is None
    assert merge(f"{MODE}\ndef main():\n    pass\n", FILE, {"mode"}.__contains__, is_addition=True) is None
    assert merge(f"{MODE}\nprint(mode([1]))\n", FILE, {"mode"}.__contains__, is_addition=True) is None
    found = merge(MODE, FILE, {"mode"}.__contains__, is_addition=True)
    assert found is not None
    lines = [line for line in found.text.split("\n") if line not in MODE.split("\n")]
    assert [line for line in lines if line] == [line for line in FILE.split("\n") if line]
    ast.parse(found.text)
